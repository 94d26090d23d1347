//! The rule `sparse-values-missing`: a sparse tensor has no values.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule =
    Rule::new(2550, "sparse-values-missing", Severity::Error, "A sparse tensor has no values.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("sparse_values_missing.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    if cx.sparse.values.is_none() {
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places), "the sparse tensor has no `values`")
                .help("set `values` to a vector of the elements that are not zero; it may be empty")
        });
    }
}
