//! The rule `sparse-values-not-a-vector`: the values of a sparse tensor are not a vector.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2551,
    "sparse-values-not-a-vector",
    Severity::Error,
    "The values of a sparse tensor are not a vector.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_values_not_a_vector.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some(values) = cx.sparse.values.as_ref().filter(|values| values.rank() != 1) else { return };
    cx.report(&RULE, |places| {
        let message = format!("the values of a sparse tensor are a vector, but have rank {}", values.rank());
        Diagnostic::new(&RULE, place.locate(places).field("values"), message)
            .help("give them one dimension, their number; `dims` of the sparse tensor holds the shape")
    });
}
