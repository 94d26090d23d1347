//! The rule `initializer-contradicts-type`: an initializer is not of the type that is declared for its value.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::Constant;
use onnx_types::{ElemType, Shape, Type, TypeKind};

use crate::conflict::conflict;
use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2104,
    "initializer-contradicts-type",
    Severity::Error,
    "An initializer is not of the type that is declared for its value.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("initializer_contradicts_type.md"));

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let (Some(constant), Some(declared)) = (cx.value.initializer(), cx.value.ty()) else { return };
    let Some(conflict) = conflict(&type_of(constant, declared), declared) else { return };
    let (id, name) = (cx.id, cx.value.name());
    cx.report(&RULE, |places| {
        let name = Quoted(places.str(name));
        let message = format!("initializer {name} contradicts the declared type: {conflict}");
        let found = Diagnostic::new(&RULE, places.initializer(id), message);
        let found = if places.initializer(id).steps() == places.definition(id).steps() {
            found
        } else {
            found.label(places.definition(id), "the type is declared here")
        };
        found.help("declare the type that the initializer has")
    });
}

/// The type of the content. A sparse tensor is of whichever kind is declared: operators turn it into a dense one.
fn type_of(constant: &Constant, declared: &Type) -> Type {
    let shape = |dims: &[i64]| Some(Shape::known(dims));
    match constant {
        Constant::Dense(tensor) => Type::tensor(tensor.elem(), shape(tensor.dims())),
        Constant::Sparse(sparse) => {
            let elem = sparse.values.as_ref().map_or(ElemType::Undefined, |values| values.elem());
            match declared.kind {
                TypeKind::Tensor(_) => Type::tensor(elem, shape(&sparse.dims)),
                _ => Type::sparse_tensor(elem, shape(&sparse.dims)),
            }
        }
    }
}
