//! The rule `sparse-indices-not-sorted`: the indices of a sparse tensor do not ascend.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2556,
    "sparse-indices-not-sorted",
    Severity::Error,
    "The indices of a sparse tensor do not ascend.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_indices_not_sorted.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some((entry, is_equal)) = cx.indices.unsorted else { return };
    cx.report(&RULE, |places| {
        let before = entry.saturating_sub(1);
        let how = if is_equal { "equal to" } else { "before" };
        let message = format!("the indices are not sorted: entry {entry} is {how} entry {before}");
        Diagnostic::new(&RULE, place.locate(places).field("indices").element(entry), message)
            .help("sort the values by place, coordinate by coordinate, with each place once")
    });
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Tensor;

    use crate::testing::{check_sparse, sparse};

    #[test]
    fn indices_ascend() {
        let place = r#"graph "g" / sparse initializer "s" / field indices / element 1"#;
        let wrong = &[("ONNX2556", place)];
        let three = |indices: &[i64]| sparse(&[1.0, 2.0, 3.0], indices, &[2, 3]);
        check_sparse(three(&[1, 0, 2]), wrong);
        check_sparse(three(&[1, 1, 2]), wrong);
        check_sparse(three(&[0, 1, 5]), &[]);
        let rows = |rows: &[i64]| {
            let mut tensor = sparse(&[1.0, 2.0], &[], &[2, 3]);
            tensor.indices = Some(Tensor::from_slice([2, 2], rows).unwrap());
            tensor
        };
        check_sparse(rows(&[1, 0, 0, 2]), wrong);
        check_sparse(rows(&[0, 2, 1, 0]), &[]);
    }
}
