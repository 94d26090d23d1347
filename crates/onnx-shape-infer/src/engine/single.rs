//! The inputs that have one element, as a scalar or as a vector of one, which runtimes take for one.
//!
//! `Loop`, `If` and `TopK` say by themselves what is wrong with theirs.

use onnx_schema::{domain, op};
use onnx_types::Symbol;

use crate::cx::{Cx, Outcome};

/// For each operator the inputs of which it takes one number, and the first version in which they are that.
const SINGLE: &[(Symbol, i64, &[usize])] = &[
    (op::BLACKMAN_WINDOW, 1, &[0]),
    (op::CLIP, 11, &[1, 2]),
    (op::CONV_INTEGER, 10, &[2]),
    (op::CUM_PROD, 1, &[1]),
    (op::CUM_SUM, 1, &[1]),
    (op::DFT, 20, &[1, 2]),
    (op::DROPOUT, 12, &[1, 2]),
    (op::HAMMING_WINDOW, 1, &[0]),
    (op::HANN_WINDOW, 1, &[0]),
    (op::MEL_WEIGHT_MATRIX, 1, &[0, 1, 2, 3, 4]),
    (op::NON_MAX_SUPPRESSION, 1, &[2, 3, 4]),
    (op::PAD, 11, &[2]),
    (op::Q_LINEAR_CONV, 10, &[1, 2, 6, 7]),
    (op::RANGE, 1, &[0, 1, 2]),
    (op::STFT, 1, &[1, 3]),
    (op::SEQUENCE_AT, 1, &[1]),
    (op::SEQUENCE_ERASE, 1, &[1]),
    (op::SEQUENCE_INSERT, 1, &[2]),
    (op::TRILU, 1, &[1]),
];

/// Whether the inputs of a node that are one number have one element, as far as their shapes are known.
///
/// # Errors
///
/// With a finding when one has another number of elements.
pub(super) fn check(cx: &mut Cx<'_, '_>) -> Outcome {
    let Ok(at) = SINGLE.binary_search_by_key(&cx.op().index(), |(op, ..)| op.index()) else { return Ok(()) };
    let Some(&(_, first, inputs)) = SINGLE.get(at) else { return Ok(()) };
    if cx.node().domain() != domain::ONNX || cx.since() < first {
        return Ok(());
    }
    for &input in inputs {
        if cx.has_input(input) {
            cx.one_element(input, &format!("input {input}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SINGLE;

    #[test]
    fn operators_are_in_order_and_have_the_inputs() {
        assert!(SINGLE.is_sorted_by_key(|(op, ..)| op.index()));
        for &(op, first, inputs) in SINGLE {
            let is_one = |schema: &&onnx_schema::Schema| schema.op() == op && schema.since_version() >= first;
            let schema = onnx_schema::all().iter().find(is_one);
            let last = inputs.last().copied().unwrap_or_default();
            assert!(schema.is_some_and(|schema| schema.input_for(last).is_some()), "{op:?}");
        }
    }
}
