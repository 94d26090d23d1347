//! Linear attention and what belongs to it: recurrent states, causal convolutions over a sequence, and gates.
//!
//! A state keeps its shape from call to call. Without one, it follows from the heads and their sizes.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::{heads, of_head};
use crate::contrib::both_like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::CAUSAL_CONV_WITH_STATE, &[since(1, causal)]),
    infer(microsoft::CONV_STATE_REPLAY, &[since(1, |cx| cx.copy_shape(2, 0))]),
    infer(microsoft::ENGRAM_GATE, &[since(1, both_like_first)]),
    infer(microsoft::GATED_DELTA_NET, &[since(1, delta_net)]),
    infer(microsoft::GATED_DELTA_NET_STATE_REPLAY, &[since(1, |cx| cx.copy_shape(2, 0))]),
    infer(microsoft::LINEAR_ATTENTION, &[since(1, linear)]),
    infer(microsoft::LINEAR_ATTENTION_GATE, &[since(1, both_like_first)]),
    infer(microsoft::MAMBA2VERIFY, &[since(1, mamba)]),
    infer(microsoft::VARLEN_CAUSAL_CONV_WITH_STATE, &[since(1, varlen)]),
];

fn linear(cx: &mut Cx<'_, '_>) -> Outcome {
    let (queries, shared) = (heads(cx, "q_num_heads")?, heads(cx, "kv_num_heads")?);
    let query = cx.shape_of_rank(0, 3)?;
    let value = cx.dims_of_rank(2, 3)?;
    let key_size = of_head(cx, at(&query, 2), queries);
    let value_size = of_head(cx, at(&value, 2), shared);
    let most = cx.dims().max(queries, shared);
    let width = cx.dims().mul(most, value_size);
    cx.set_shape(0, [at(&query, 0), at(&query, 1), width]);
    let window = cx.int_or("state_window", 0)?;
    let state = [at(&query, 0), shared, key_size, value_size];
    let slots = (window > 0).then_some(Dim::Known(window));
    cx.set_shape(1, slots.into_iter().chain(state));
    Ok(())
}

/// Queries `[tokens, heads, head]`, or `[batch, length, heads, head]`; packed with keys and values they have one axis less
/// and the state says the rest: `[batch, value heads, value head, key head]`.
fn delta_net(cx: &mut Cx<'_, '_>) -> Outcome {
    let state = cx.dims_of_rank(6, 4)?;
    let query = cx.shape(0)?;
    let is_packed = !cx.has_input(1);
    let lead = if is_packed { query.len().saturating_sub(1) } else { query.len().saturating_sub(2) };
    let (heads, value_size) = if is_packed {
        (at(&state, 1), at(&state, 2))
    } else {
        let value = cx.dims_of_rank(2, query.len())?;
        (at(&value, lead), at(&value, lead.saturating_add(1)))
    };
    let tokens = query.get(..lead).unwrap_or_default().iter().copied();
    cx.set_shape(0, tokens.chain([heads, value_size]));
    let key_size = if is_packed { at(&state, 3) } else { at(&query, lead.saturating_add(1)) };
    let batch = match cx.shape(3).as_deref() {
        Ok(&[bounds]) => cx.dims().sub(bounds, Dim::Known(1)),
        _ => at(&state, 0),
    };
    let batch = if cx.is_size(batch) { batch } else { at(&state, 0) };
    cx.set_shape(1, [batch, heads, value_size, key_size]);
    cx.set_shape(2, [batch, Dim::Unknown]);
    Ok(())
}

/// Only the attributes that all kernels take are followed; otherwise the states are unknown.
fn causal(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.shape(0)?;
    let selects = cx.int_or("input_channels", 0)? != 0;
    if selects {
        return Err(Stop::Unknown);
    }
    cx.copy_shape(0, 0)?;
    if cx.has_input(3) {
        return cx.copy_shape(3, 1);
    }
    let is_extended = cx.int_or("state_length", 0)? != 0
        || cx.int_or("state_channels_last", -1)? != -1
        || cx.int_or("channels_last", 0)? != 0
        || cx.int_or("ndim", 1)? != 1;
    let kernel = cx.dims_of_rank(1, 3)?;
    if is_extended || input.len() != 3 {
        return Err(Stop::Unknown);
    }
    let length = history(cx, at(&kernel, 2))?;
    let window = cx.int_or("state_window", 0)?;
    let slots = (window > 0).then_some(Dim::Known(window));
    cx.set_shape(1, slots.into_iter().chain([at(&input, 0), at(&input, 1), length]));
    Ok(())
}

/// How many positions before the current one a kernel reads.
fn history(cx: &mut Cx<'_, '_>, kernel: Dim) -> Outcome<Dim> {
    let dilation = cx.int_or("dilation", 1)?;
    let before = cx.dims().sub(kernel, Dim::Known(1));
    let length = cx.dims().mul(before, Dim::Known(dilation));
    Ok(if cx.is_size(length) { length } else { Dim::Unknown })
}

fn varlen(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)?;
    cx.copy_shape(4, 1)?;
    let state = cx.dims_of_rank(4, 3)?;
    let capacity = cx.int_or("state_update_capacity", 0)?;
    cx.set_shape(2, [at(&state, 0), Dim::Known(capacity), at(&state, 1)]);
    Ok(())
}

fn mamba(cx: &mut Cx<'_, '_>) -> Outcome {
    for (snapshots, output) in [(1, 1), (2, 2)] {
        // Unknown as long as the snapshots are.
        let _ = cx.copy_shape(snapshots, output);
    }
    let rows = at(&cx.dims_of_rank(0, 2)?, 0);
    let heads = heads(cx, "heads")?;
    let size = cx.int_or("head_dim", 64)?;
    let width = cx.dims().mul(heads, Dim::Known(size));
    let channels = at(&cx.dims_of_rank(4, 1)?, 0);
    let wide: Dims = [rows, width].into_iter().collect();
    cx.set_shape(0, wide.iter().copied());
    cx.set_shape(3, [rows, channels]);
    cx.set_dims(4, wide);
    Ok(())
}
