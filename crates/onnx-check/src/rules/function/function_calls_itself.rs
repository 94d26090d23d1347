//! The rule `function-calls-itself`: a function calls itself, directly or through others.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;
use crate::options::Part;

pub(crate) static RULE: Rule = Rule::new(
    2604,
    "function-calls-itself",
    Severity::Error,
    "A function calls itself, directly or through others.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_calls_itself.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let id = cx.id;
    let Some(cycle) = cx.calls.cycle(id) else { return };
    let model = cx.cx.model;
    let is_alone = cx.cx.part != Part::Model;
    cx.cx.report(&RULE, |places| {
        let name = |function| Quoted(places.str(model.function(function).name()));
        let mut way = String::new();
        for &function in cycle.functions.iter().skip(1) {
            way.push_str(&format!("{} calls ", name(function)));
        }
        if cycle.functions.len() < cycle.length {
            way.push_str("others call ");
        }
        let own = name(id);
        let found = Diagnostic::new(&RULE, places.function(id), format!("function {own} calls itself"));
        let found = if way.is_empty() { found } else { found.note(format!("{own} calls {way}{own}")) };
        // The reference does not check the calls of a standalone function.
        let found = found.beyond_reference(is_alone);
        found.help("use `Loop` or `Scan` to repeat, or end the chain with a function that calls no other")
    });
}
