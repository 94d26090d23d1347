//! `SequenceConstruct`: a sequence of the inputs; what they have in common is known about its elements.

use onnx_schema::op;

use super::listed_sequence;
use crate::cx::{Cx, Outcome};
use crate::engine::control::Known;
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_CONSTRUCT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let list: Vec<Known> = (0..cx.input_count()).map(|index| cx.known(index)).collect();
    listed_sequence(cx, &Ty::Unknown, list)
}
