//! The rule `external-key-unknown`: external data have an entry that the specification does not know.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_types::tensor::Payload;

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2512,
    "external-key-unknown",
    Severity::Note,
    "External data have an entry that the specification does not know.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("external_key_unknown.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    let Payload::External(external) = cx.tensor.payload() else { return };
    // A writer mostly gives its key to all tensors: the first one stands for them.
    if external.unknown_keys().next().is_none() || !cx.first_time(&RULE) {
        return;
    }
    cx.report(&RULE, |places| {
        let key = Quoted(external.unknown_keys().next().unwrap_or_default());
        let message = format!("external data have the entry {key}, which readers ignore");
        Diagnostic::new(&RULE, place.locate(places).field("external_data"), message)
            .help("the known keys are `location`, `offset`, `length` and `checksum`")
            .note("other tensors may have such entries, too")
    });
}
