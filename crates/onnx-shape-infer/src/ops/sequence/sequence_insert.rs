//! `SequenceInsert`: a sequence with one more element, behind the last one by default; what all have in common is known about
//! the elements.

use onnx_schema::op;

use super::{element, listed_sequence, set_sequence};
use crate::cx::{Cx, Outcome};
use crate::family::join::join_ty;
use crate::fault::TYPES_DIFFER;
use crate::registry::{OpRules, infer, since};
use crate::sequence::place;
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_INSERT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    let inserted = cx.known(1);
    let Ok(joined) = join_ty(cx, &element, &inserted.ty) else {
        return Err(cx.fail(&TYPES_DIFFER, "the tensor is of another type than the elements of the sequence"));
    };
    set_sequence(cx, &joined);
    let Some(mut list) = cx.listed(0) else { return Ok(()) };
    let at = if cx.has_input(2) {
        let index = cx.scalar(2)?.known();
        index.and_then(|index| place(index, list.len().saturating_add(1), list.len()))
    } else {
        Some(list.len())
    };
    if let Some(at) = at {
        list.insert(at, inserted);
        let elem = joined.elem().unwrap_or_default();
        listed_sequence(cx, &Ty::Tensor(elem, None), list)?;
    }
    Ok(())
}
