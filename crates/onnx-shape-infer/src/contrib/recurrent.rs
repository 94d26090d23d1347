//! Recurrent operators. The number of directions is the first size of the weights.

use onnx_schema::onnxruntime::{default, microsoft};

use super::like_first;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

use onnx_types::Dim;

pub(super) const RULES: &[OpRules] = &[
    infer(default::GRU_UNIT, &[since(1, like_first)]),
    infer(microsoft::ATTN_LSTM, &[since(1, lstm)]),
    infer(microsoft::DYNAMIC_QUANTIZE_LSTM, &[since(1, quantized_lstm)]),
];

/// The recurrence weights are `[directions, 4*hidden, hidden]`.
fn lstm(cx: &mut Cx<'_, '_>) -> Outcome {
    let hidden = at(&cx.dims_of_rank(2, 3)?, 2);
    states(cx, hidden)
}

/// The recurrence weights are `[directions, hidden, 4*hidden]`.
fn quantized_lstm(cx: &mut Cx<'_, '_>) -> Outcome {
    let hidden = at(&cx.dims_of_rank(2, 3)?, 1);
    states(cx, hidden)
}

fn states(cx: &mut Cx<'_, '_>, hidden: Dim) -> Outcome {
    let hidden = match cx.int("hidden_size")? {
        Some(size) if hidden.is_unknown() => Dim::Known(size),
        _ => hidden,
    };
    let (input, weights) = (cx.dims_of_rank(0, 3)?, cx.dims_of_rank(1, 3)?);
    let (length, batch, directions) = (at(&input, 0), at(&input, 1), at(&weights, 0));
    cx.set_shape(0, [length, directions, batch, hidden]);
    cx.set_shape(1, [directions, batch, hidden]);
    cx.set_shape(2, [directions, batch, hidden]);
    Ok(())
}
