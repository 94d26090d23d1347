//! `SequenceErase`: a sequence without one of its elements.

use onnx_schema::op;

use super::{element, set_sequence};
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_ERASE, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    set_sequence(cx, &element);
    Ok(())
}
