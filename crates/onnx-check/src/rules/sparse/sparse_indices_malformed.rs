//! The rule `sparse-indices-malformed`: the indices of a sparse tensor have another type or shape than its values and
//! dimensions ask for.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::cx::SparseCx;

pub(crate) static RULE: Rule = Rule::new(
    2554,
    "sparse-indices-malformed",
    Severity::Error,
    "The indices of a sparse tensor have another type or shape than its values and dimensions ask for.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_indices_malformed.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let (place, sparse) = (cx.place, cx.sparse);
    let Some(indices) = &sparse.indices else { return };
    // A missing or unknown type is reported for the tensor itself.
    if !matches!(indices.elem(), ElemType::Int64 | ElemType::Undefined) {
        cx.report(&RULE, |places| {
            let message = format!("the indices of a sparse tensor are int64, but are {}", indices.elem());
            Diagnostic::new(&RULE, place.locate(places).field("indices"), message).help("write them as int64")
        });
    }
    let values = sparse.values.as_ref().map(Tensor::dims);
    if let Some(message) = wrong_shape(indices.dims(), values, sparse.dims.len()) {
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places).field("indices"), message)
                .help("write one position for each value, or one row of coordinates")
        });
    }
}

/// What is wrong with the shape of the indices of a tensor of this rank, whose values have these dimensions.
fn wrong_shape(dims: &[i64], values: Option<&[i64]>, rank: usize) -> Option<String> {
    let (count, columns) = match *dims {
        [count] => (count, None),
        [count, columns] => (count, Some(columns)),
        _ => {
            return Some(format!("the indices of a sparse tensor have rank 1 or 2, but have {}", dims.len()));
        }
    };
    if let Some(&[values]) = values
        && values != count
    {
        return Some(format!("the sparse tensor has {values} values, but {count} indices"));
    }
    let wrong = columns.filter(|&columns| rank > 0 && usize::try_from(columns) != Ok(rank))?;
    Some(format!("the indices have {wrong} coordinates, but the sparse tensor has rank {rank}"))
}
