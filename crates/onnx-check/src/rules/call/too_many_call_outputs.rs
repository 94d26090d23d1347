//! The rule `too-many-call-outputs`: a call gives more outputs than the function has.

use onnx_diag::{Rule, Severity};

use super::surplus;
use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2652,
    "too-many-call-outputs",
    Severity::Error,
    "A call gives more outputs than the function has.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("too_many_call_outputs.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    surplus(
        cx,
        &RULE,
        "outputs",
        |body| body.outputs().len(),
        |node| node.outputs().len(),
        |places, node, at| places.output(node, at),
    );
}
