//! The rule `too-many-call-inputs`: a call gives more inputs than the function has.

use onnx_diag::{Rule, Severity};
use onnx_ir::Node;

use super::surplus;
use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2651,
    "too-many-call-inputs",
    Severity::Error,
    "A call gives more inputs than the function has.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("too_many_call_inputs.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    surplus(
        cx,
        &RULE,
        "inputs",
        |body| body.inputs().len(),
        Node::input_count,
        |places, node, at| places.input(node, at),
    );
}
