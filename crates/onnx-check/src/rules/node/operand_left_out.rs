//! The rule `operand-left-out`: a list of operands has an empty name in it.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_schema::FormalOption;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2314, "operand-left-out", Severity::Warning, "A list of operands has an empty name in it.")
        .with_spec("IR: Variadic Inputs and Outputs")
        .with_explain(include_str!("operand_left_out.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    // Most nodes name all their inputs, and need no signature here.
    if cx.node.inputs().all(|input| input.is_some()) {
        return;
    }
    let Some(schema) = cx.signature() else { return };
    let id = cx.id;
    for (index, _) in cx.node.inputs().enumerate().filter(|(_, input)| input.is_none()) {
        let Some((formal, FormalOption::Variadic)) = schema.input_for(index) else { continue };
        cx.report(&RULE, |places| {
            let message =
                format!("one of the inputs {} of {} has no name", Quoted(formal), Quoted(schema.name()));
            Diagnostic::new(&RULE, places.input(id, index), message)
                .help("name the value that goes there, or take the entry out of the list")
        });
    }
}
