//! The rule `metadata-key-repeated`: the metadata of a part of the model has a key twice.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;

use crate::declaration_cx::Holder;

use crate::declaration_cx::MetadataCx;

pub(crate) static RULE: Rule = Rule::new(
    2021,
    "metadata-key-repeated",
    Severity::Warning,
    "The metadata of a part of the model has a key twice.",
)
.with_spec("IR: Models")
.with_explain(include_str!("metadata_key_repeated.md"));

pub(crate) fn check(cx: &mut MetadataCx<'_, '_>) {
    if matches!(cx.holder, Holder::Model) || cx.entries.len() < 2 {
        return;
    }
    let mut seen = BTreeSet::new();
    let holder = cx.holder;
    for key in cx.keys() {
        if seen.insert(key) {
            continue;
        }
        cx.report(&RULE, |places| {
            let place = holder.locate(places).metadata(key);
            Diagnostic::new(&RULE, place, format!("metadata has the key {} twice", Quoted(key)))
                .help("remove one of them: readers disagree on whether the first or the last one applies")
                .beyond_reference(true)
        });
    }
}
