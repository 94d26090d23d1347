//! `SequenceErase`: a sequence without one of its elements, the last one by default.

use onnx_schema::op;
use onnx_types::Dim;

use super::{element, listed_sequence, set_sequence};
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::sequence::place;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_ERASE, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    set_sequence(cx, &element);
    let Some(mut list) = cx.listed(0) else { return Ok(()) };
    let index = if cx.has_input(1) { cx.scalar(1)? } else { Dim::Known(-1) };
    if let Some(at) = index.known().and_then(|index| place(index, list.len(), list.len())) {
        list.remove(at);
        listed_sequence(cx, &element, list)?;
    }
    Ok(())
}
