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
