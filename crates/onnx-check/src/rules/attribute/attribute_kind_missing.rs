//! The rule `attribute-kind-missing`: an attribute does not state its kind.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule =
    Rule::new(2403, "attribute-kind-missing", Severity::Error, "An attribute does not state its kind.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("attribute_kind_missing.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    if cx.attribute.declared_kind().is_none() && cx.model.info().ir_version >= 2 {
        let (node, name) = (cx.node, cx.attribute.name());
        cx.report(&RULE, |places| {
            let message = format!("attribute {} does not state its kind", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.attribute(node, name), message)
                .help("set the field `type`; readers do not infer it from the value")
        });
    }
}

#[cfg(test)]
mod tests {
    use onnx_ir::{AttrValue, Attribute};
    use onnx_types::FieldForms;

    use crate::testing::{Builder, check_model};

    #[test]
    fn attributes_say_of_which_kind_they_are() {
        let model = |m: &mut Builder, kind| {
            m.inputs(["x"]);
            let name = m.model.intern("axis");
            let axis = Attribute::from_parts(name, AttrValue::Int(0), kind, FieldForms::CANONICAL, None);
            m.node_with("y = Softmax (x)", [axis]);
            m.outputs(["y"]);
        };
        check_model(|m| model(m, None), &[("ONNX2403", r#"graph "g" / node #0 Softmax / attribute "axis""#)]);
        check_model(|m| model(m, Some(2)), &[]);
    }
}
