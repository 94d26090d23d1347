//! `SequenceConstruct`: a sequence of the inputs; what they have in common is known about its elements.

use onnx_schema::op;

use super::set_sequence;
use crate::cx::{Cx, Outcome};
use crate::family::join::join_ty;
use crate::fault::TYPES_DIFFER;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_CONSTRUCT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut element = cx.ty(0);
    for index in 1..cx.input_count() {
        match join_ty(cx, &element, &cx.ty(index)) {
            Ok(joined) => element = joined,
            Err(_) => return Err(cx.fail(&TYPES_DIFFER, "the elements of a sequence must have one type")),
        }
    }
    set_sequence(cx, &element);
    Ok(())
}
