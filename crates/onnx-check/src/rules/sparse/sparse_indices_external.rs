//! The rule `sparse-indices-external`: the indices of a sparse tensor are external data.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2557,
    "sparse-indices-external",
    Severity::Error,
    "The indices of a sparse tensor are external data.",
)
.with_spec("IR: External Tensor Data")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_indices_external.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    if cx.sparse.indices.as_ref().is_some_and(onnx_types::tensor::Tensor::is_external) {
        cx.report(&RULE, |places| {
            let message = "the indices of a sparse tensor are in an external file, which readers do not read";
            Diagnostic::new(&RULE, place.locate(places).field("indices"), message)
                .help("write the indices into the model; the values may be external data")
        });
    }
}
