//! The rule `initializer-not-input`: an initializer is not an input of its graph, in an IR version that requires it.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Constant;

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2103,
    "initializer-not-input",
    Severity::Error,
    "An initializer is not an input of its graph, which IR versions up to 3 require.",
)
.with_spec("IR: Graphs")
.with_reference(Reference::Enforced)
.with_explain(include_str!("initializer_not_input.md"));

/// The last IR version in which every initializer is an input, too.
const LAST_IR_WITH_INPUTS: i64 = 3;

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let version = cx.model.info().ir_version;
    if !(1..=LAST_IR_WITH_INPUTS).contains(&version) {
        return;
    }
    // Sparse initializers are younger than the requirement.
    let Some(Constant::Dense(_)) = cx.value.constant().map(AsRef::as_ref) else { return };
    // That a name is defined twice is another rule's business.
    if cx.earlier.is_some_and(|earlier| cx.model.graph_of(earlier) == cx.model.graph_of(cx.id)) {
        return;
    }
    let (id, name) = (cx.id, cx.value.name());
    cx.report(&RULE, |places| {
        let message = format!("initializer {} is not an input of its graph", Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.initializer(id), message)
            .help(format!("list it among the inputs, or raise the IR version from {version} to 4 or newer"))
    });
}
