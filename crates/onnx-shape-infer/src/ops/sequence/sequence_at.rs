//! `SequenceAt`: one element of a sequence.

use onnx_schema::op;

use super::element;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_AT, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    if element != Ty::Unknown {
        cx.set_ty(0, element);
    }
    Ok(())
}
