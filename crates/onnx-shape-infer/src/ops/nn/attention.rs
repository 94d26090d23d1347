//! `Attention`: queries, keys and values, each `[B, heads, length, size]`, or `[B, length, heads*size]` with the number of
//! heads as attributes.
//!
//! The result has the rank of the query. Keys and values follow those of the past, so that the present has a length of
//! `P + S`. Lengths that are not numbers are added as expressions; the reference gives no shape for the present then, and a
//! length of 0 for the scores, which is wrong. Without a past the present is what the keys and values are, of which the
//! reference says nothing. Sizes that do not fit are a fault that the reference accepts. Inputs of different ranks are left
//! open. Version 25 says which inputs, outputs and attributes go together.

use onnx_schema::{attr, op};
use onnx_types::{Dim, Symbol};

use super::heads::{count, grouped, share};
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, BAD_VALUE, MISSING, NO_BROADCAST, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::ATTENTION, &[since(23, attend), since(25, attend_checked)]);

/// What is known of a query, key or value.
#[derive(Clone, Copy, Default)]
struct Part {
    /// 3 or 4, or 0 when it is not known.
    rank: usize,
    batch: Dim,
    heads: Dim,
    length: Dim,
    size: Dim,
}

fn part(cx: &mut Cx<'_, '_>, input: usize, heads: Symbol) -> Outcome<Part> {
    let Ok(dims) = cx.shape(input) else { return Ok(Part::default()) };
    let (rank, batch) = (dims.len(), at(&dims, 0));
    match rank {
        4 => Ok(Part { rank, batch, heads: at(&dims, 1), length: at(&dims, 2), size: at(&dims, 3) }),
        3 => {
            let heads = count(cx, heads)?;
            let size = share(cx, at(&dims, 2), heads)?;
            Ok(Part { rank, batch, heads: Dim::Known(heads), length: at(&dims, 1), size })
        }
        _ => Err(cx.fail(&WRONG_RANK, format_args!("input {input} has rank {rank} where 3 or 4 is needed"))),
    }
}

/// The mask broadcasts to the scores; its last axis may be shorter from version 24 on.
fn mask_fits(cx: &mut Cx<'_, '_>, scores: &[Dim; 4]) -> Outcome {
    let Ok(mut mask) = cx.shape(3) else { return Ok(()) };
    let pads = cx.since() >= 24;
    if let (Some(last), true) = (mask.last_mut(), pads) {
        if cx.dims_le(*last, scores[3]) == Some(false) {
            return Err(cx.fail(&NO_BROADCAST, "the mask has more columns than there are keys"));
        }
        *last = scores[3];
    }
    cx.broadcasts_to(&mask, scores, "the mask")
}

fn attend_checked(cx: &mut Cx<'_, '_>) -> Outcome {
    for name in [attr::LEFT_WINDOW_SIZE, attr::RIGHT_WINDOW_SIZE] {
        let size = cx.int_or(name, -1)?;
        if size < -1 {
            return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("a window has the size {size}")));
        }
    }
    let past = [cx.has_input(4), cx.has_input(5)];
    let present = [cx.has_output(1), cx.has_output(2)];
    if past[0] != past[1] {
        return Err(cx.fail(&MISSING, "`past_key` and `past_value` are given both or neither"));
    }
    if present[0] != present[1] {
        return Err(cx.fail(&MISSING, "`present_key` and `present_value` are named both or neither"));
    }
    if cx.has_input(6) && (past[0] || present[0]) {
        return Err(cx.fail(&BAD_VALUE, "`nonpad_kv_seqlen` takes no past and gives no present"));
    }
    let heads = cx.has_attribute(attr::Q_NUM_HEADS) || cx.has_attribute(attr::KV_NUM_HEADS);
    if heads && cx.rank(0) == Ok(4) {
        return Err(
            cx.fail(&BAD_ATTRIBUTE, "inputs with an axis of heads have no numbers of heads as attributes")
        );
    }
    attend(cx)
}

fn attend(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut query = part(cx, 0, attr::Q_NUM_HEADS)?;
    let mut key = part(cx, 1, attr::KV_NUM_HEADS)?;
    let mut value = part(cx, 2, attr::KV_NUM_HEADS)?;
    let past = cx.has_input(4) || cx.has_input(5);
    let (past_key, past_value) = (cx.dims_of_rank(4, 4)?, cx.dims_of_rank(5, 4)?);
    if [query, key, value].iter().all(|part| part.rank == 0) {
        return Err(Stop::Unknown);
    }

    for of in [key.batch, value.batch, at(&past_key, 0), at(&past_value, 0)] {
        query.batch = cx.same(query.batch, of, "the batch sizes of the inputs")?;
    }
    for of in [value.heads, at(&past_key, 1), at(&past_value, 1)] {
        key.heads = cx.same(key.heads, of, "the numbers of heads of keys and values")?;
    }
    grouped(cx, query.heads, key.heads)?;
    key.length = cx.same(key.length, value.length, "the numbers of keys and of values")?;
    for of in [query.size, at(&past_key, 3)] {
        key.size = cx.same(key.size, of, "the sizes of a query and of a key")?;
    }
    value.size = cx.same(value.size, at(&past_value, 3), "the sizes of a value")?;
    let before = cx.same(at(&past_key, 2), at(&past_value, 2), "the numbers of past keys and values")?;
    let total = if past { cx.dims().add(before, key.length) } else { key.length };

    let mut keys = [query.batch, key.heads, total, key.size];
    cx.name_sizes(1, &mut keys);
    let [batch, heads, total, _] = keys;
    cx.set_shape(1, keys);
    cx.set_shape(2, [batch, heads, total, value.size]);
    let scores = [batch, query.heads, query.length, total];
    mask_fits(cx, &scores)?;
    cx.set_shape(3, scores);
    if [key, value].iter().any(|part| part.rank != 0 && part.rank != query.rank) {
        return Err(Stop::Unknown);
    }
    if query.rank == 4 {
        cx.set_shape(0, [batch, query.heads, query.length, value.size]);
    } else {
        let packed = cx.dims().mul(query.heads, value.size);
        cx.set_shape(0, [batch, query.length, packed]);
    }
    Ok(())
}
