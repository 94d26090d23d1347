//! Recipe of `RNN`, `GRU` and `LSTM`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::RNN, op::GRU, op::LSTM], recurrent)];

fn recurrent(draft: &mut Draft<'_, '_>) -> Option<()> {
    let gates = match draft.schema.op() {
        op::GRU => 3,
        op::LSTM => 4,
        _ => 1,
    };
    let input = draft.of_rank(3, 3)?;
    let hidden = draft.smith.choices.int(1, 4);
    let is_both = draft.smith.choices.chance(30);
    let directions = if is_both { 2 } else { 1 };
    if is_both {
        draft.set(attr::DIRECTION, "bidirectional");
    } else if draft.smith.choices.chance(30) {
        draft.set(attr::DIRECTION, "reverse");
    }
    draft.leave(&[
        attr::DIRECTION,
        attr::LAYOUT,
        attr::ACTIVATIONS,
        attr::ACTIVATION_ALPHA,
        attr::ACTIVATION_BETA,
        attr::OUTPUT_SEQUENCE,
        attr::CLIP,
    ]);
    draft.set(attr::HIDDEN_SIZE, hidden);
    let (d, h, g) = (Dim::Known(directions), Dim::Known(hidden), Dim::Known(gates * hidden));
    draft.shaped(&[d, g, *input.get(2)?])?;
    draft.shaped(&[d, g, h])?;
    if draft.wants(50) {
        draft.shaped(&[d, Dim::Known(2 * gates * hidden)])?;
    } else {
        draft.skip();
    }
    draft.skip();
    if draft.wants(40) {
        draft.shaped(&[d, *input.get(1)?, h])?;
        if gates == 4 && draft.wants(60) {
            draft.shaped(&[d, *input.get(1)?, h])?;
        }
    }
    if draft.schema.min_outputs() == 0 && draft.since() < 3 {
        draft.set(attr::OUTPUT_SEQUENCE, 1_i64);
    }
    Some(())
}
