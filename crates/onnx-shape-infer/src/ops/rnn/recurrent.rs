//! `RNN`, `GRU` and `LSTM`: an input `[T, B, I]`, or `[B, T, I]` with `layout`, goes through one or two directions of cells.
//!
//! The first output has all states, `[T, D, B, H]` or `[B, T, D, H]`, the others have the last ones, `[D, B, H]` or
//! `[B, D, H]`. The number of directions and the hidden size follow from the attributes, the weights `[D, g*H, I]` and
//! `[D, g*H, H]`, and the initial states, where `g` is the number of gates. It is a fault when the hidden sizes contradict each
//! other; the reference reads only the attributes, and its own models have weights for one direction of two. Until version 6 the first output has a shape only if `output_sequence` is set: it is
//! empty or absent otherwise. The shapes of the last states are inferred in any case, because they are always computed.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RNN: OpRules =
    infer(op::RNN, &[since(1, |cx| on_request(cx, 1)), since(7, |cx| cells(cx, 1, true))]);
pub(super) const GRU: OpRules =
    infer(op::GRU, &[since(1, |cx| on_request(cx, 3)), since(7, |cx| cells(cx, 3, true))]);
pub(super) const LSTM: OpRules =
    infer(op::LSTM, &[since(1, |cx| on_request(cx, 4)), since(7, |cx| cells(cx, 4, true))]);

fn on_request(cx: &mut Cx<'_, '_>, gates: i64) -> Outcome {
    let sequence = cx.int_or(attr::OUTPUT_SEQUENCE, 0)? != 0;
    cells(cx, gates, sequence)
}

fn cells(cx: &mut Cx<'_, '_>, gates: i64, sequence: bool) -> Outcome {
    let batch_first = cx.int_or(attr::LAYOUT, 0)? != 0;
    let input = cx.dims_of_rank(0, 3)?;
    let weights = cx.dims_of_rank(1, 3)?;
    let recurrence = cx.dims_of_rank(2, 3)?;
    cx.same(at(&input, 2), at(&weights, 2), "the sizes of the input and of its weights")?;
    let (steps, batch) =
        if batch_first { (at(&input, 1), at(&input, 0)) } else { (at(&input, 0), at(&input, 1)) };

    let mut directions = directions(cx)?;
    for of in [at(&weights, 0), at(&recurrence, 0)] {
        // The reference's own models have weights for one direction of two.
        if cx.dims_eq(directions, of) != Some(false) {
            directions = cx.same(directions, of, "the numbers of directions")?;
        }
    }
    let mut hidden = match cx.int(attr::HIDDEN_SIZE)? {
        Some(size) if size > 0 => Dim::Known(size),
        _ => Dim::Unknown,
    };
    hidden = cx.same(hidden, at(&recurrence, 2), "the hidden size and the size of its weights")?;
    for all in [at(&weights, 1), at(&recurrence, 1)] {
        hidden = of_gates(cx, hidden, all, gates)?;
    }
    let lengths = cx.dims_of_rank(4, 1)?;
    let mut batch = cx.same(batch, at(&lengths, 0), "the batch sizes of the input and of the lengths")?;
    for state in 5..if gates == 4 { 7 } else { 6 } {
        let state = cx.dims_of_rank(state, 3)?;
        let (of, rows) = if batch_first { (1, 0) } else { (0, 1) };
        directions = cx.same(directions, at(&state, of), "the numbers of directions")?;
        batch = cx.same(batch, at(&state, rows), "the batch sizes of the input and of a state")?;
        hidden = cx.same(hidden, at(&state, 2), "the hidden sizes")?;
    }

    let mut last = if batch_first { [batch, directions, hidden] } else { [directions, batch, hidden] };
    if sequence {
        let [first, second, hidden] = last;
        let mut all =
            if batch_first { [first, steps, second, hidden] } else { [steps, first, second, hidden] };
        cx.name_sizes(0, &mut all);
        let [outer, inner, second, hidden] = all;
        last = [if batch_first { outer } else { inner }, second, hidden];
        cx.set_shape(0, all);
    }
    cx.name_sizes(1, &mut last);
    cx.set_shape(1, last);
    cx.set_shape(2, last);
    Ok(())
}

fn directions(cx: &mut Cx<'_, '_>) -> Outcome<Dim> {
    Ok(match cx.text(attr::DIRECTION)? {
        // The default of the first version of `GRU` is a slip of the pen.
        None | Some("forward" | "reverse" | "foward") => Dim::Known(1),
        Some("bidirectional") => Dim::Known(2),
        Some(_) => Dim::Unknown,
    })
}

/// The hidden size by a dimension that has an element for each gate and hidden element.
fn of_gates(cx: &mut Cx<'_, '_>, hidden: Dim, all: Dim, gates: i64) -> Outcome<Dim> {
    if hidden.is_unknown() {
        return Ok(match all {
            Dim::Unknown => Dim::Unknown,
            _ => cx.dims().quotient(all, Dim::Known(gates)).unwrap_or_default(),
        });
    }
    let wanted = cx.dims().mul(hidden, Dim::Known(gates));
    cx.same(all, wanted, "the sizes of the weights and of all gates")?;
    Ok(hidden)
}
