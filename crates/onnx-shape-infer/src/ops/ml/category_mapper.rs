//! `CategoryMapper`: texts to integers, or integers to texts, element by element.
//!
//! Both lists of categories are required in either direction; they pair each string with its integer by index.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::CATEGORY_MAPPER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    check(cx)?;
    match cx.elem(0) {
        Ok(ElemType::String) => cx.set_elem(0, ElemType::Int64),
        Ok(ElemType::Int64) => cx.set_elem(0, ElemType::String),
        _ => {}
    }
    cx.copy_shape(0, 0)
}

fn check(cx: &mut Cx<'_, '_>) -> Outcome {
    let ints = cx.ints(attr::CATS_INT64S)?.map(<[i64]>::len);
    let texts = cx.texts(attr::CATS_STRINGS)?;
    match (ints, texts) {
        (None, _) => Err(cx.fail(&MISSING, "attribute `cats_int64s` is missing")),
        (_, None) => Err(cx.fail(&MISSING, "attribute `cats_strings` is missing")),
        (Some(ints), Some(texts)) if ints != texts => {
            Err(cx.fail(&BAD_ATTRIBUTE, format_args!("there are {texts} texts for {ints} integers")))
        }
        _ => Ok(()),
    }
}
