//! `CategoryMapper`: texts to integers, or integers to texts, element by element.

use onnx_schema::{domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::CATEGORY_MAPPER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    match cx.elem(0) {
        Ok(ElemType::String) => cx.set_elem(0, ElemType::Int64),
        Ok(ElemType::Int64) => cx.set_elem(0, ElemType::String),
        _ => {}
    }
    cx.copy_shape(0, 0)
}
