//! `SequenceEmpty`: a sequence of no tensors, of floats unless `dtype` says otherwise.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::set_sequence;
use crate::cx::{Cx, Outcome};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_EMPTY, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = match cx.int(attr::DTYPE)? {
        None => ElemType::Float,
        Some(code) => match i32::try_from(code).ok().and_then(ElemType::from_code) {
            Some(elem) if elem != ElemType::Undefined => elem,
            _ => {
                return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("attribute `dtype` names no type: {code}")));
            }
        },
    };
    set_sequence(cx, &Ty::Tensor(elem, None));
    Ok(())
}
