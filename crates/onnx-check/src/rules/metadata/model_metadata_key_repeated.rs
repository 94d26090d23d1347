//! The rule `model-metadata-key-repeated`: the metadata of the model has a key twice.

use std::collections::BTreeSet;

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Model;

use crate::declaration_cx::{Holder, MetadataCx};

pub(crate) static RULE: Rule = Rule::new(
    2020,
    "model-metadata-key-repeated",
    Severity::Error,
    "The metadata of the model has a key twice.",
)
.with_spec("IR: Models")
.with_reference(Reference::Enforced)
.with_explain(include_str!("model_metadata_key_repeated.md"));

pub(crate) fn check(cx: &mut MetadataCx<'_, '_>) {
    if !matches!(cx.holder, Holder::Model) || cx.entries.len() < 2 {
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
        });
    }
}

/// Drops entries that repeat an earlier one, value and all.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut edit = model.info_mut();
    let metadata = &mut edit.metadata;
    let before = metadata.len();
    let mut met = BTreeSet::new();
    metadata.retain(|entry| met.insert((entry.key(), entry.value().clone())));
    match before.saturating_sub(metadata.len()) {
        0 => Vec::new(),
        count => vec![format!("dropped entries of `metadata_props` that repeat others ({count})")],
    }
}
