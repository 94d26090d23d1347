//! The rule `undefined-type-part`: a declared type does not state what it consists of.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::{ElemType, Type, TypeKind};

use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2902,
    "undefined-type-part",
    Severity::Warning,
    "A declared type has no kind, or does not state the type of its elements.",
)
.with_spec("IR: Input / Output Data Types")
.with_explain(include_str!("undefined_type_part.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    // Of inputs and outputs of the main graph, `type-incomplete` checks the outermost type.
    let first = usize::from(cx.is_interface());
    let gap = cx.levels().enumerate().skip(first).find_map(|(level, ty)| Some((level, gap(ty)?)));
    let Some((level, message)) = gap else { return };
    let place = cx.place;
    cx.report(&RULE, |places| {
        Diagnostic::new(&RULE, place.locate(places, level), message)
            .help("complete the type, or leave out the declaration where it is optional")
    });
}

/// What a type leaves open that it must say.
fn gap(ty: &Type) -> Option<&'static str> {
    match &ty.kind {
        TypeKind::Undefined => Some("the type has no kind, such as tensor or sequence"),
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
            (tensor.elem == ElemType::Undefined).then_some("the element type is undefined")
        }
        TypeKind::Sequence(None) => Some("the type of the elements is missing"),
        TypeKind::Optional(None) => Some("the type of the element is missing"),
        TypeKind::Map { key: ElemType::Undefined, .. } => Some("the type of the keys is undefined"),
        TypeKind::Map { value: None, .. } => Some("the type of the values is missing"),
        TypeKind::Opaque { name, .. } => name.is_empty().then_some("the opaque type has no name"),
        TypeKind::Sequence(Some(_)) | TypeKind::Optional(Some(_)) | TypeKind::Map { .. } => None,
    }
}
