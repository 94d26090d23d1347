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

/// A function of a library has another name in the model.
pub static LINKED_FUNCTION_RENAMED: Rule = Rule::new(
    4004,
    "linked-function-renamed",
    Severity::Warning,
    "A function of a library was linked under another name.",
)
.with_explain(include_str!("rules/linked-function-renamed.md"));

/// A called function is defined nowhere.
pub static CALLED_FUNCTION_MISSING: Rule = Rule::new(
    4005,
    "called-function-missing",
    Severity::Warning,
    "A function that the model calls is in neither the model nor a library.",
)
.with_explain(include_str!("rules/called-function-missing.md"));

/// The model needs nothing from a library.
pub static LIBRARY_NOT_USED: Rule = Rule::new(
    4006,
    "library-not-used",
    Severity::Warning,
    "The model calls no function that only the library defines.",
)
.with_explain(include_str!("rules/library-not-used.md"));

/// The rules, by ascending code.
pub static ALL: &[&Rule] = &[
    &CALL_NOT_INLINED,
    &INLINING_DOES_NOT_END,
    &NODES_NOT_OUTLINED,
    &LINKED_FUNCTION_RENAMED,
    &CALLED_FUNCTION_MISSING,
    &LIBRARY_NOT_USED,
];
