//! The rule `function-calls-too-deep`: a chain of calls of functions is longer than readers follow.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2605,
    "function-calls-too-deep",
    Severity::Warning,
    "A chain of calls of functions is longer than readers follow.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Partly)
.with_explain(include_str!("function_calls_too_deep.md"));

/// How long a chain the reference follows.
const LIMIT: usize = 100;

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let id = cx.id;
    let Some((_, length)) = cx.calls.longest().filter(|&(first, length)| first == id && length > LIMIT)
    else {
        return;
    };
    cx.report(&RULE, |places| {
        let place = places.function(id);
        Diagnostic::new(
            &RULE,
            place,
            format!("a chain of {length} functions that call each other begins here"),
        )
        .help(format!("inline some of them: readers follow {} functions", Quoted(&LIMIT.to_string())))
    });
}
