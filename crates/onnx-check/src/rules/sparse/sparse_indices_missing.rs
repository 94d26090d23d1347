//! The rule `sparse-indices-missing`: a sparse tensor has values, but no indices.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule =
    Rule::new(2553, "sparse-indices-missing", Severity::Error, "A sparse tensor has values, but no indices.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("sparse_indices_missing.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some(&[count]) = cx.sparse.values.as_ref().map(onnx_types::tensor::Tensor::dims) else { return };
    if cx.sparse.indices.is_some() || count == 0 {
        return;
    }
    cx.report(&RULE, |places| {
        let message = format!("the sparse tensor has {count} values, but no `indices`");
        Diagnostic::new(&RULE, place.locate(places), message)
            .help("set `indices`: for each value its position, or its coordinates")
    });
}
