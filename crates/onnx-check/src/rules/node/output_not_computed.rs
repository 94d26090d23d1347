//! The rule `output-not-computed`: a node names an output that its operator does not compute with these attributes.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2315,
    "output-not-computed",
    Severity::Error,
    "A node names an output that its operator does not compute with these attributes.",
)
.with_spec("IR: Optional Inputs and Outputs")
.with_explain(include_str!("output_not_computed.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    // Of other numbers of outputs, another rule speaks.
    if schema.op() != op::BATCH_NORMALIZATION || schema.since_version() < 14 || cx.node.outputs().len() != 3 {
        return;
    }
    let (id, node) = (cx.id, cx.node);
    let mode = node.attributes().iter().find(|given| given.name() == attr::TRAINING_MODE);
    if mode.is_some_and(|mode| !matches!(mode.value(), AttrValue::Int(0))) {
        return;
    }
    let Some(index) = node.outputs().iter().skip(1).position(Option::is_some) else { return };
    let index = index.saturating_add(1);
    let Some(formal) = schema.output_for(index) else { return };
    cx.report(&RULE, |places| {
        let (op, formal) = (Quoted(schema.name()), Quoted(formal.name));
        let message = format!("{op} computes its output {formal} in training mode only");
        Diagnostic::new(&RULE, places.output(id, index), message)
            .help("leave out the outputs after the first, or set `training_mode` to 1")
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, version: i64, outputs: &str, mode: Option<i64>) {
        m.no_imports();
        m.import("", version);
        m.inputs(["x", "s", "b", "m", "v"]);
        let mode: Vec<_> = mode.into_iter().map(|mode| m.attribute("training_mode", mode)).collect();
        m.node_with(&format!("{outputs} = BatchNormalization (x, s, b, m, v)"), mode);
        m.outputs(["y"]);
    }

    #[test]
    fn outputs_are_computed() {
        let place = |index, name: &str| {
            format!(r#"graph "g" / node #0 BatchNormalization / output {index} "{name}""#)
        };
        check_model(|m| model(m, 15, "y, p, q", None), &[("ONNX2315", &place(1, "p"))]);
        check_model(|m| model(m, 15, "y, , q", Some(0)), &[("ONNX2315", &place(2, "q"))]);
        check_model(|m| model(m, 15, "y, p, q", Some(1)), &[]);
        check_model(|m| model(m, 15, "y", None), &[]);
        // Before version 14, the number of outputs decides what is computed: `training_mode` does not exist yet.
        check_model(|m| model(m, 9, "y, p, q, r, t", None), &[]);
    }
}
