//! The rule `type-incomplete`: an input or output of the main graph has no type, or one with a gap.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::{ElemType, Type, TypeKind};

use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2901,
    "type-incomplete",
    Severity::Error,
    "An input or output of the main graph has no type, or one without element type or shape.",
)
.with_spec("IR: Graphs")
.with_reference(Reference::Partly)
.with_explain(include_str!("type_incomplete.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    if !cx.is_interface() {
        return;
    }
    let Some(ty) = cx.ty else {
        return report(
            cx,
            "the type is missing",
            "declare it, element type and rank at least: `onnx edit MODEL --declare 'NAME=float[N]' -o NEW`; `onnx infer -o` writes those of outputs that it finds",
            true,
        );
    };
    match &ty.kind {
        TypeKind::Undefined => report(
            cx,
            "the type has no kind, such as tensor or sequence",
            "declare the type of the value",
            true,
        ),
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
            if tensor.elem == ElemType::Undefined {
                report(cx, "the element type is undefined", "declare it", is_absent(ty));
            }
            if tensor.shape.is_none() {
                let help = "declare the rank; dimensions that are not known can stay open";
                report(cx, "the shape is missing", help, true);
            }
        }
        TypeKind::Sequence(None) => {
            report(cx, "the type of the elements is missing", "say what the sequence holds", true);
        }
        TypeKind::Optional(None) => {
            report(cx, "the type of the element is missing", "say what the optional holds", true);
        }
        TypeKind::Map { key, value } => {
            if *key == ElemType::Undefined {
                report(
                    cx,
                    "the type of the keys is undefined",
                    "declare an integer type or strings",
                    is_absent(ty),
                );
            }
            if value.is_none() {
                report(cx, "the type of the values is missing", "say what the map holds", true);
            }
        }
        TypeKind::Opaque { name, .. } if name.is_empty() => {
            report(cx, "the opaque type has no name", "state the name of the opaque type", true);
        }
        TypeKind::Sequence(Some(_)) | TypeKind::Optional(Some(_)) | TypeKind::Opaque { .. } => {}
    }
}

/// Whether an undefined element type is one that the file leaves out: that it spells out `UNDEFINED`, or a code that does
/// not exist, is nothing that the reference looks for. Such a type keeps the bytes that it was read from.
const fn is_absent(ty: &Type) -> bool {
    ty.source.is_none()
}

#[cold]
fn report(cx: &mut TypeCx<'_, '_>, message: &str, help: &str, is_enforced: bool) {
    let place = cx.place;
    cx.report(&RULE, |places| {
        Diagnostic::new(&RULE, place.locate(places, 0), message).help(help).beyond_reference(!is_enforced)
    });
}
