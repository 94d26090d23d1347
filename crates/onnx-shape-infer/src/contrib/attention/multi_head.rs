//! Attention over whole sequences `[batch, length, width]`, with a cache in older form.
//!
//! Merged projections have the weights of queries, keys and values side by side, a third each unless `qkv_hidden_sizes`
//! is given. The cache of `Attention` is one tensor `[2, batch, heads, length, head]` for keys and values; that of
//! `MultiHeadAttention` are two. With `past_present_share_buffer`, or with `past_sequence_length` as an input, the cache keeps
//! its size; otherwise it grows by the length of the keys.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::{heads, merged_width, of_head};
use crate::contrib::like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::ATTENTION, &[since(1, |cx| merged(cx, 4))]),
    infer(microsoft::DECODER_ATTENTION, &[since(1, decoder)]),
    infer(microsoft::DECODER_MASKED_MULTI_HEAD_ATTENTION, &[since(1, masked_multi_head)]),
    infer(microsoft::DECODER_MASKED_SELF_ATTENTION, &[since(1, |cx| merged(cx, 4))]),
    infer(microsoft::LONGFORMER_ATTENTION, &[since(1, like_first)]),
    infer(microsoft::MULTI_HEAD_ATTENTION, &[since(1, multi_head)]),
    infer(microsoft::Q_ATTENTION, &[since(1, |cx| merged(cx, 8))]),
];

fn merged(cx: &mut Cx<'_, '_>, past: usize) -> Outcome {
    let input = cx.shape_of_rank(0, 3)?;
    let all = at(&cx.dims_of_rank(1, 2)?, 1);
    let width = merged_width(cx, all)?;
    cx.set_shape(0, [at(&input, 0), at(&input, 1), width]);
    if cx.flag("past_present_share_buffer")? {
        return cx.copy_shape(past, 1);
    }
    let heads = heads(cx, "num_heads")?;
    let head = of_head(cx, width, heads);
    let length = grown(cx, past, 3, at(&input, 1));
    cx.set_shape(1, [Dim::Known(2), at(&input, 0), heads, length, head]);
    Ok(())
}

/// The length of a cache to which `added` rows are appended.
fn grown(cx: &mut Cx<'_, '_>, past: usize, axis: usize, added: Dim) -> Dim {
    match (cx.has_input(past), cx.shape(past)) {
        (false, _) => added,
        (true, Ok(dims)) => cx.dims().add(at(&dims, axis), added),
        (true, Err(_)) => Dim::Unknown,
    }
}

/// What the queries, keys and values of `MultiHeadAttention` say.
struct Operands {
    batch: Dim,
    length: Dim,
    /// The number of keys that this call adds, unless they are in a cache of another length.
    keys: Dim,
    head: Dim,
    value_head: Dim,
}

/// The forms are: `[B, S, N*H]` each; queries and keys with values `[B, L, N, 2, H]`; all packed as `[B, S, N, 3, H]`; and
/// keys and values `[B, N, L, H]` of cross attention.
fn operands(cx: &mut Cx<'_, '_>, heads: Dim) -> Outcome<Operands> {
    let query = cx.shape(0)?;
    let (batch, length) = (at(&query, 0), at(&query, 1));
    if query.len() == 5 {
        let head = at(&query, 4);
        return Ok(Operands { batch, length, keys: length, head, value_head: head });
    }
    if query.len() != 3 || !cx.has_input(1) {
        return Err(Stop::Unknown);
    }
    let head = of_head(cx, at(&query, 2), heads);
    let key = cx.shape(1).unwrap_or_default();
    let keys = match key.len() {
        3 | 5 => at(&key, 1),
        4 => at(&key, 2),
        _ => Dim::Unknown,
    };
    let value_head = match (key.len(), cx.shape(2)) {
        (5, _) => at(&key, 4),
        (_, Ok(value)) if value.len() == 3 => of_head(cx, at(&value, 2), heads),
        (_, Ok(value)) if value.len() == 4 => at(&value, 3),
        _ => Dim::Unknown,
    };
    Ok(Operands { batch, length, keys, head, value_head })
}

fn multi_head(cx: &mut Cx<'_, '_>) -> Outcome {
    let heads = heads(cx, "num_heads")?;
    let Operands { batch, length, keys, head, value_head } = operands(cx, heads)?;
    let width = match cx.shape(2) {
        // Without a division that would have to be undone.
        Ok(value) if value.len() == 3 => at(&value, 2),
        _ => cx.dims().mul(value_head, heads),
    };
    cx.set_shape(0, [batch, length, width]);
    let is_shared = cx.has_input(8);
    let total = if is_shared { Dim::Unknown } else { grown(cx, 6, 2, keys) };
    cx.set_shape(3, [batch, heads, length, total]);
    if is_shared {
        cx.copy_shape(6, 1)?;
        return cx.copy_shape(7, 2);
    }
    cx.set_shape(1, [batch, heads, total, head]);
    cx.set_shape(2, [batch, heads, total, value_head]);
    Ok(())
}

/// One token at a time. Keys and values of cross attention are the cache and no outputs.
fn masked_multi_head(cx: &mut Cx<'_, '_>) -> Outcome {
    let query = cx.shape_of_rank(0, 3)?;
    let heads = heads(cx, "num_heads")?;
    let width = match cx.shape(2) {
        Ok(value) if value.len() == 3 => at(&value, 2),
        Ok(value) if value.len() == 4 => cx.dims().mul(at(&value, 1), at(&value, 3)),
        _ => Dim::Unknown,
    };
    cx.set_shape(0, [at(&query, 0), at(&query, 1), width]);
    cx.set_shape(3, [at(&query, 0), heads, at(&query, 1), Dim::Unknown]);
    let is_shared = cx.flag("past_present_share_buffer")?;
    for (past, present) in [(5, 1), (6, 2)] {
        let Ok(mut dims) = cx.shape_of_rank(past, 4) else { continue };
        if !is_shared && let Some(length) = dims.get_mut(2) {
            *length = cx.dims().add(*length, Dim::Known(1));
        }
        cx.set_dims(present, dims);
    }
    Ok(())
}

/// The length comes before the batch. Whether the cache grows is said by inputs at run time.
fn decoder(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)?;
    let query = cx.shape_of_rank(0, 3)?;
    let heads = heads(cx, "num_heads")?;
    let head = of_head(cx, at(&query, 2), heads);
    let cache: Dims = [at(&query, 1), heads, Dim::Unknown, head].into_iter().collect();
    cx.set_shape(1, cache.iter().copied());
    cx.set_dims(2, cache);
    Ok(())
}
