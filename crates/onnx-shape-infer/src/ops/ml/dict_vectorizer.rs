//! `DictVectorizer`: the values of a map, one place for each word of the vocabulary.
//!
//! The specification defines a vector, and runtimes and the converters that write such models have one row. So only the element
//! type is inferred, as by the reference.

use onnx_schema::{domain, op};
use onnx_types::{ElemType, Type, TypeKind};

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
    Ok(())
}
