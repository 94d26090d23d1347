//! `SequenceAt`: one element of a sequence. Its own type is known where the elements and the index are.

use onnx_schema::op;

use super::element;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::sequence::{Members, place};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_AT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    if element != Ty::Unknown {
        cx.set_ty(0, element);
    }
    let Some(members) = cx.members(0) else { return Ok(()) };
    if let Members::Listed(list) = &*members {
        let index = cx.scalar(1)?.known();
        let at = index.and_then(|index| place(index, list.len(), list.len()));
        if let Some(ty) = at.and_then(|at| list.get(at))
            && !ty.is_unknown()
        {
            cx.set_ty(0, ty.clone());
        }
    }
    Ok(())
}
