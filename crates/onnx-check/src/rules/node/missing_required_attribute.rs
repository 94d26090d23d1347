//! The rule `missing-required-attribute`: a node lacks an attribute that its operator requires.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule {
    code: 2310,
    slug: "missing-required-attribute",
    severity: Severity::Error,
    summary: "A node lacks an attribute that its operator requires.",
    spec: "IR: Attributes",
    reference: Reference::Enforced,
    explain: include_str!("missing_required_attribute.md"),
};

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    for formal in schema.attributes() {
        if formal.is_required && cx.node.attribute(formal.name).is_none() {
            let id = cx.id;
            cx.report(&RULE, |places| {
                let (op, name) = (Quoted(schema.name()), Quoted(formal.text()));
                Diagnostic::new(&RULE, places.node(id), format!("{op} needs the attribute {name}"))
                    .help(format!("add it, with a value of kind {}", formal.kind))
                    .note(format!("the signature is that of {schema}"))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    #[test]
    fn required_attributes_are_there() {
        let model = |m: &mut Builder, axis: Option<i64>| {
            m.inputs(["a", "b"]);
            let axis = axis.map(|axis| m.attribute("axis", axis));
            m.node_with("y = Concat (a, b)", axis);
            m.outputs(["y"]);
        };
        check_model(|m| model(m, None), &[("ONNX2310", r#"graph "g" / node #0 Concat"#)]);
        check_model(|m| model(m, Some(0)), &[]);
    }

    #[test]
    fn a_reference_counts() {
        check_model(
            |m| {
                m.function("d", "f", Some(""), |m| {
                    m.inputs(["a"]);
                    let axis = m.reference("axis", "axis", onnx_ir::AttrKind::Int);
                    m.node_with("y = Concat (a)", [axis]);
                    m.outputs(["y"]);
                });
                let axis = m.model.intern("axis");
                m.last_function().attributes.push(axis);
            },
            &[],
        );
    }
}
