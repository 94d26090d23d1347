//! `SequenceEmpty`: a sequence of no tensors, of floats unless `dtype` says otherwise.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::set_sequence;
use crate::cx::{Cx, Outcome};
use crate::family::element_type::defined;
use crate::registry::{OpRules, infer, since};
use crate::sequence::Members;
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::SEQUENCE_EMPTY, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = defined(cx, attr::DTYPE)?.unwrap_or(ElemType::Float);
    set_sequence(cx, &Ty::Tensor(elem, None));
    cx.set_members(0, Members::Listed(Vec::new()));
    Ok(())
}
