//! The rule `types-contradict`: two declarations of one value cannot both be true.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::conflict::conflict;
use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2906,
    "types-contradict",
    Severity::Warning,
    "Two declarations of one value cannot both be true.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("types_contradict.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    let (Some(ty), Some(other)) = (cx.ty, cx.other) else { return };
    let Some(conflict) = conflict(ty, other) else { return };
    let place = cx.place;
    cx.report(&RULE, |places| {
        let message = format!("the type contradicts another declaration of the value: {conflict}");
        Diagnostic::new(&RULE, place.locate(places, 0), message)
            .help("keep the declaration that is true and remove the other, or make them equal")
    });
}
