//! The rule `reference-of-other-kind`: an attribute refers to one of another kind.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrKind;
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2672,
    "reference-of-other-kind",
    Severity::Error,
    "An attribute refers to one of another kind.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("reference_of_other_kind.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    let Some(function) = cx.function else { return };
    let Some(default) = cx.functions().default_of(function, target) else { return };
    let kinds = (cx.attribute.declared_kind(), default.declared_kind());
    let (Some(here), Some(there)) =
        (kinds.0.and_then(AttrKind::from_code), kinds.1.and_then(AttrKind::from_code))
    else {
        return;
    };
    if here == there {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let message = format!(
            "the attribute is of kind {}, and refers to {}, which is of kind {}",
            here.name(),
            Quoted(places.str(target)),
            there.name()
        );
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .label(places.function_attribute(function, target), "it has its default here")
            .help("give the default the kind that the node needs")
            .beyond_reference(true)
    });
}

#[cfg(test)]
mod tests {
    use onnx_ir::AttrKind;

    use crate::testing::{Builder, check_model};

    /// A node that refers to `target`, in a function with the attributes `a` and, an integer, `b`; or in the graph.
    fn model(m: &mut Builder, target: &str, kind: AttrKind, is_function: bool) {
        let node = |m: &mut Builder| {
            m.inputs(["x"]);
            let attribute = m.reference("axis", target, kind);
            m.node_with("y = Softmax (x)", [attribute]);
            m.outputs(["y"]);
        };
        if !is_function {
            return node(m);
        }
        m.function("d", "f", Some(""), node);
        let (a, b) = (m.model.intern("a"), m.attribute("b", 1));
        m.last_function().attributes.push(a);
        m.push_default(b);
    }

    #[test]
    fn references_are_of_one_kind() {
        let place = r#"function "f" of domain "d" / node #0 Softmax / attribute "axis""#;
        check_model(
            |m| {
                model(m, "b", AttrKind::Int, true);
                let name = m.model.intern("b");
                let function = *m.model.functions().last().unwrap();
                let default = onnx_ir::Attribute::new(name, 0.5_f32);
                m.model.replace_function_default(function, 0, default).unwrap();
            },
            &[("ONNX2672", place)],
        );
        check_model(|m| model(m, "b", AttrKind::Int, true), &[]);
    }
}
