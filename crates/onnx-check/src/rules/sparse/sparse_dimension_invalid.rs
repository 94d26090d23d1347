//! The rule `sparse-dimension-invalid`: a sparse tensor has no dimensions, or one that is not positive.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2552,
    "sparse-dimension-invalid",
    Severity::Error,
    "A sparse tensor has no dimensions, or one that is not positive.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_dimension_invalid.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let (place, dims) = (cx.place, &cx.sparse.dims);
    if dims.is_empty() {
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places), "the sparse tensor has no dimensions")
                .help("set `dims`; a single element needs no sparse tensor")
        });
    }
    for (axis, &dim) in dims.iter().enumerate().filter(|&(_, &dim)| dim <= 0) {
        cx.report(&RULE, |places| {
            let message = format!("dimension {axis} of the sparse tensor is {dim}, but must be positive");
            Diagnostic::new(&RULE, place.locate(places).dimension(axis), message)
                .help("write the size; a tensor without elements is written as a dense one")
        });
    }
}
