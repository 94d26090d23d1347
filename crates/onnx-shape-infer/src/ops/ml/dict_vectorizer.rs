//! `DictVectorizer`: the values of a map as one row, one place for each word of the vocabulary.
//!
//! The reference infers only the element type.

use onnx_schema::{attr, domain, op};
use onnx_types::{Dim, ElemType, Type, TypeKind};

use super::size;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::DICT_VECTORIZER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = match cx.ty(0) {
        Ty::Other(ty) if matches!(ty.kind, TypeKind::Map { .. }) => ty.inner().map(Type::elem),
        _ => None,
    };
    if let Some(elem) = elem.filter(|&elem| elem != ElemType::Undefined) {
        cx.set_elem(0, elem);
    }
    let texts = cx.texts(attr::STRING_VOCABULARY)?.unwrap_or(0);
    let ints = cx.ints(attr::INT64_VOCABULARY)?.map_or(0, <[i64]>::len);
    let words = match (texts, ints) {
        (0, words) | (words, 0) if words > 0 => size(words),
        _ => Dim::Unknown,
    };
    cx.set_shape(0, [Dim::Known(1), words]);
    Ok(())
}
