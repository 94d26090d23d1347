//! Rules of edits of functions: 4xxx.

use onnx_diag::{Rule, Severity};

/// A selected call was not replaced by the body of the function.
pub static CALL_NOT_INLINED: Rule = Rule::new(
    4001,
    "call-not-inlined",
    Severity::Warning,
    "A selected call was not replaced by the body of the function.",
)
.with_explain(include_str!("rules/call-not-inlined.md"));

/// Functions that call themselves cannot be inlined.
pub static INLINING_DOES_NOT_END: Rule = Rule::new(
    4002,
    "inlining-does-not-end",
    Severity::Error,
    "A function to inline calls itself, directly or through others.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("rules/inlining-does-not-end.md"));

/// Nodes were not moved into a function.
pub static NODES_NOT_OUTLINED: Rule =
    Rule::new(4003, "nodes-not-outlined", Severity::Error, "The selected nodes cannot become a function.")
        .with_explain(include_str!("rules/nodes-not-outlined.md"));

/// The rules, by ascending code.
pub static ALL: &[&Rule] = &[&CALL_NOT_INLINED, &INLINING_DOES_NOT_END, &NODES_NOT_OUTLINED];
