//! The rule `sparse-index-out-of-range`: an index of a sparse tensor is outside of its dimensions.

use crate::cx::SparseCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2555,
    "sparse-index-out-of-range",
    Severity::Error,
    "An index of a sparse tensor is outside of its dimensions.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("sparse_index_out_of_range.md"));

pub(crate) fn check(cx: &mut SparseCx<'_, '_>) {
    let place = cx.place;
    let Some(outside) = cx.indices.outside.take() else { return };
    cx.report(&RULE, |places| {
        let what = match outside.axis {
            Some(axis) => format!("coordinate {axis} of the value"),
            None => "the position of the value".to_owned(),
        };
        let message = format!("{what} is {}, but must be in 0 to {}", outside.index, outside.largest);
        Diagnostic::new(&RULE, place.locate(places).field("indices").element(outside.entry), message)
            .help("correct the index or the dimensions; negative indices do not count from the end")
    });
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Tensor;

    use crate::testing::{check_sparse, sparse};

    #[test]
    fn indices_are_inside() {
        let place = r#"graph "g" / sparse initializer "s" / field indices / element 1"#;
        let wrong = &[("ONNX2555", place)];
        check_sparse(sparse(&[1.0, 2.0], &[0, 6], &[2, 3]), wrong);
        check_sparse(sparse(&[1.0, 2.0], &[0, 5], &[2, 3]), &[]);
        let rows = |last| {
            let mut tensor = sparse(&[1.0, 2.0], &[], &[2, 3]);
            tensor.indices = Some(Tensor::from_slice([2, 2], &[0_i64, 0, 1, last]).unwrap());
            tensor
        };
        check_sparse(rows(3), wrong);
        check_sparse(rows(-1), wrong);
        check_sparse(rows(2), &[]);
    }

    #[test]
    fn sizes_do_not_wrap() {
        // 2^64 elements: the product is 0 in 64 bits.
        let large = sparse(&[1.0, 2.0], &[0, i64::MAX], &[1 << 32, 1 << 32]);
        check_sparse(large, &[]);
    }
}
