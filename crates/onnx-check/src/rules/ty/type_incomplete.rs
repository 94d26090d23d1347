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
            "declare it, element type and rank at least, or let `onnx infer -o` write the types that it finds",
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use onnx_types::Symbol;

    use super::*;
    use crate::testing::{Builder, check_model, float, scalar};
    use crate::{CheckOptions, check};

    fn model(m: &mut Builder, x: Option<Type>) {
        m.inputs(["x"]);
        m.node("y = Identity (x)");
        m.outputs(["y"]);
        m.typed("x", x);
    }

    const PLACE: (&str, &str) = ("ONNX2901", r#"graph "g" / input 0 "x" / type"#);

    #[test]
    fn inputs_have_an_element_type_and_a_rank() {
        check_model(|m| model(m, Some(float(None))), &[PLACE]);
        check_model(|m| model(m, Some(float(Some(&[3])))), &[]);
        check_model(|m| model(m, Some(Type::tensor(ElemType::Undefined, None))), &[PLACE, PLACE]);
        check_model(|m| model(m, Some(Type::sparse_tensor(ElemType::Float, None))), &[PLACE]);
        check_model(|m| model(m, None), &[PLACE]);
        check_model(|m| model(m, Some(Type::default())), &[PLACE]);
    }

    #[test]
    fn outputs_have_them_too() {
        check_model(
            |m| {
                model(m, Some(float(Some(&[]))));
                m.typed("y", None);
            },
            &[("ONNX2901", r#"graph "g" / output 0 "y" / type"#)],
        );
    }

    #[test]
    fn other_kinds_say_what_they_hold() {
        let map = |key, value: Option<Type>| Type::new(TypeKind::Map { key, value: value.map(Box::new) });
        let opaque = |name| Type::new(TypeKind::Opaque { domain: Symbol::EMPTY, name });
        let tensor = || float(None);
        check_model(|m| model(m, Some(Type::new(TypeKind::Sequence(None)))), &[PLACE]);
        check_model(|m| model(m, Some(Type::sequence(tensor()))), &[]);
        check_model(|m| model(m, Some(Type::new(TypeKind::Optional(None)))), &[PLACE]);
        check_model(|m| model(m, Some(Type::optional(tensor()))), &[]);
        check_model(|m| model(m, Some(map(ElemType::Undefined, None))), &[PLACE, PLACE]);
        check_model(|m| model(m, Some(map(ElemType::String, Some(tensor())))), &[]);
        check_model(|m| model(m, Some(opaque(Symbol::EMPTY))), &[PLACE]);
        let name = Symbol::from_index(1);
        check_model(|m| model(m, Some(opaque(name))), &[]);
    }

    #[test]
    fn nested_graphs_need_not_declare_types() {
        check_model(
            |m| {
                m.inputs(["c"]);
                let branches = ["then_branch", "else_branch"].map(|name| {
                    let graph = m.nested(name, |m| {
                        m.initializer(name, scalar());
                        m.outputs([name]);
                    });
                    m.attribute(name, graph)
                });
                m.node_with("y = If (c)", branches);
                m.outputs(["y"]);
            },
            &[],
        );
    }

    #[test]
    fn an_element_type_that_is_spelled_out_as_undefined_is_beyond_the_reference() {
        for source in [None, Some(Bytes::from_static(b"\x0a\x04\x08\x00\x12\x00"))] {
            let mut m = Builder::new();
            let ty = Type::tensor(ElemType::Undefined, Some(onnx_types::Shape::scalar()));
            model(&mut m, Some(Type { source: source.clone(), ..ty }));
            let found = check(&m.model, &CheckOptions::default()).into_diagnostics();
            let found: Vec<_> = found.iter().map(|found| (found.rule.code, found.beyond_reference)).collect();
            assert_eq!(found, [(2901, source.is_some())]);
        }
    }
}
