//! `SequenceInsert`: a sequence with one more element; what both have in common is known about the elements.

use onnx_schema::op;

use super::{element, set_sequence};
use crate::cx::{Cx, Outcome};
use crate::family::join::join_ty;
use crate::fault::TYPES_DIFFER;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_INSERT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    match join_ty(cx, &element, &cx.ty(1)) {
        Ok(joined) => set_sequence(cx, &joined),
        Err(_) => {
            return Err(
                cx.fail(&TYPES_DIFFER, "the tensor is of another type than the elements of the sequence")
            );
        }
    }
    Ok(())
}
