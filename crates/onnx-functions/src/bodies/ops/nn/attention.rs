//! `Attention`: `softmax(Q·Kᵀ * scale + mask) · V` for each head.
//!
//! Everything is computed in `float` at least, and the softmax in the `softmax_precision` if it is given. A key that is excluded
//! by a mask, a window or the number of keys gets a score of negative infinity, and a query without keys gives 0. The reference
//! adds negative infinity instead, which is NaN for a score that is NaN or infinite, rounds to the element type in between, and
//! does not work for inputs without elements.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::heads;
use crate::bodies::draft::{Draft, Made, V};

/// The first version in which masks may be shorter than the keys, and a number of keys is an operand.
const PADDED: i64 = 24;

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (elem, value_elem) = (draft.elem(0)?, draft.elem(2)?);
    let wide = if elem == ElemType::Double { elem } else { ElemType::Float };
    let mode = draft.int(attr::QK_MATMUL_OUTPUT_MODE)?;
    if !(0..=3).contains(&mode) {
        return Err(draft.wrong(attr::QK_MATMUL_OUTPUT_MODE, "names no output"));
    }
    let is_joined = heads::are_joined(draft)?;
    let q = heads::split(draft, 0, attr::Q_NUM_HEADS)?;
    let (mut k, mut v) =
        (heads::split(draft, 1, attr::KV_NUM_HEADS)?, heads::split(draft, 2, attr::KV_NUM_HEADS)?);
    let mut past = None;
    match (draft.optional(4), draft.optional(5)) {
        (Some(keys), Some(values)) => {
            past = Some(draft.dim(keys, 2)?);
            k = draft.concat(&[keys, k], 2)?;
            v = draft.concat(&[values, v], 2)?;
        }
        (None, None) => {}
        _ => return Err("the past has keys or values, but not both".into()),
    }
    let mut shown = Vec::new();
    let scores = scores(draft, [q, k], (elem, wide))?;
    shown.push(scores);
    let cap = draft.float(attr::SOFTCAP)?;
    let mut capped = scores;
    if cap > 0.0 {
        let cap = draft.number(wide, f64::from(cap))?;
        let ratio = draft.div(scores, cap)?;
        let bent = draft.tanh(ratio)?;
        capped = draft.mul(cap, bent)?;
    }
    shown.push(capped);
    let masked = masked(draft, capped, [q, k], past, wide)?;
    shown.push(masked);
    let precision = draft.elem_attribute(attr::SOFTMAX_PRECISION)?.filter(|elem| elem.is_float());
    let parts = match precision {
        Some(precision) => {
            let narrow = draft.cast(masked, wide, precision)?;
            let parts = probabilities(draft, narrow, precision)?;
            draft.cast(parts, precision, wide)?
        }
        None => probabilities(draft, masked, wide)?,
    };
    shown.push(parts);
    let values = heads::repeat(draft, v, q)?;
    let values = draft.cast(values, value_elem, wide)?;
    let y = draft.matmul(parts, values)?;
    let mut y = draft.cast(y, wide, elem)?;
    if is_joined {
        y = heads::join(draft, y)?;
    }
    let mut results = vec![y, k, v];
    if draft.output_count() > 3 {
        let shown = usize::try_from(mode).ok().and_then(|mode| shown.get(mode).copied());
        results.push(draft.cast(shown.ok_or("the mode names no output")?, wide, elem)?);
    }
    Ok(results)
}

/// The scaled products of queries and keys. Both are multiplied by the root of the scale, as the specification has it.
fn scores(draft: &mut Draft<'_>, [q, k]: [V; 2], (elem, wide): (ElemType, ElemType)) -> Made {
    let scale = heads::scale(draft, q, wide)?;
    let root = draft.sqrt(scale)?;
    let keys = heads::repeat(draft, k, q)?;
    let (queries, keys) = (draft.cast(q, elem, wide)?, draft.cast(keys, elem, wide)?);
    let (queries, keys) = (draft.mul(queries, root)?, draft.mul(keys, root)?);
    let keys = draft.transpose(keys, &[0, 1, 3, 2])?;
    draft.matmul(queries, keys)
}

/// The scores with the mask, and negative infinity for the keys that are excluded.
fn masked(draft: &mut Draft<'_>, scores: V, [q, k]: [V; 2], past: Option<V>, wide: ElemType) -> Made {
    let mut scores = scores;
    let (rows, columns) = (draft.dim(q, 2)?, draft.dim(k, 2)?);
    let lengths = if draft.version() >= PADDED { draft.optional(6) } else { None };
    if lengths.is_some() && past.is_some() {
        return Err("the node has both `nonpad_kv_seqlen` and `past_key`".into());
    }
    let mut allowed = reach(draft, rows, columns, past, lengths)?;
    if let Some(mask) = draft.optional(3) {
        let elem = draft.elem(3)?;
        let bias = if elem == ElemType::Bool { mask } else { draft.cast(mask, elem, wide)? };
        let bias_elem = if elem == ElemType::Bool { elem } else { wide };
        let bias = padded(draft, bias, bias_elem, columns)?;
        allowed.push(if elem == ElemType::Bool {
            bias
        } else {
            let least = draft.number(wide, f64::NEG_INFINITY)?;
            let is_out = draft.equal(bias, least)?;
            scores = draft.add(scores, bias)?;
            draft.not(is_out)?
        });
    }
    let mut all = None;
    for part in allowed {
        all = Some(match all {
            Some(all) => draft.and(all, part)?,
            None => part,
        });
    }
    let Some(all) = all else { return Ok(scores) };
    let least = draft.number(wide, f64::NEG_INFINITY)?;
    draft.select(all, scores, least)
}

/// A mask that is as long as the keys: what is missing is excluded.
fn padded(draft: &mut Draft<'_>, mask: V, elem: ElemType, columns: V) -> Made {
    if draft.version() < PADDED {
        return Ok(mask);
    }
    let length = draft.dim(mask, -1)?;
    let missing = draft.sub(columns, length)?;
    let zero = draft.ints(&[0])?;
    let pads = draft.concat(&[zero, missing], 0)?;
    let value = if elem == ElemType::Bool {
        // `Pad` pads with `False` by default.
        None
    } else {
        Some(draft.number(elem, f64::NEG_INFINITY)?)
    };
    let axis = draft.ints(&[-1])?;
    let made = draft.node(op::PAD, &[Some(mask), Some(pads), value, Some(axis)], Vec::new(), 1)?;
    made.first().copied().ok_or_else(|| "the node has no output".into())
}

/// The conditions on the indices of queries and keys under which a query attends to a key.
fn reach(draft: &mut Draft<'_>, rows: V, columns: V, past: Option<V>, lengths: Option<V>) -> Made<Vec<V>> {
    let is_causal = draft.int(attr::IS_CAUSAL)? != 0;
    let has_windows = draft.version() >= 25;
    let mut window = [None, None];
    if has_windows {
        for (side, name) in window.iter_mut().zip([attr::LEFT_WINDOW_SIZE, attr::RIGHT_WINDOW_SIZE]) {
            *side = match draft.int(name)? {
                -1 => None,
                size if size >= 0 => Some(size),
                _ => return Err(draft.wrong(name, "is not the size of a window")),
            };
        }
    }
    let lengths = lengths.map(|lengths| draft.unsqueeze(lengths, &[1, 2, 3])).transpose()?;
    let mut allowed = Vec::new();
    if !is_causal && window == [None, None] && lengths.is_none() {
        return Ok(allowed);
    }
    let keys = draft.places(columns)?;
    if is_causal || window != [None, None] {
        let queries = draft.places(rows)?;
        let queries = draft.unsqueeze(queries, &[1])?;
        let offset = match (lengths, past) {
            (Some(lengths), _) => Some(draft.sub(lengths, rows)?),
            (None, past) => past,
        };
        let places = match offset {
            Some(offset) => draft.add(queries, offset)?,
            None => queries,
        };
        let [left, right] = window;
        if let Some(left) = left {
            let left = draft.int64(left)?;
            let first = draft.sub(places, left)?;
            let is_before = draft.less(keys, first)?;
            allowed.push(draft.not(is_before)?);
        }
        for right in right.into_iter().chain(is_causal.then_some(0)) {
            let right = draft.int64(right)?;
            let last = draft.add(places, right)?;
            let is_behind = draft.less(last, keys)?;
            allowed.push(draft.not(is_behind)?);
        }
    }
    if let Some(lengths) = lengths {
        allowed.push(draft.less(keys, lengths)?);
    }
    Ok(allowed)
}

/// The softmax along the keys, which is 0 for a query without keys.
fn probabilities(draft: &mut Draft<'_>, scores: V, elem: ElemType) -> Made {
    let least = draft.number(elem, f64::NEG_INFINITY)?;
    let max = draft.reduce(op::REDUCE_MAX, scores, &[3])?;
    let is_empty = draft.equal(max, least)?;
    let (zero, one) = (draft.number(elem, 0.0)?, draft.number(elem, 1.0)?);
    let max = draft.select(is_empty, zero, max)?;
    let shifted = draft.sub(scores, max)?;
    let powers = draft.exp(shifted)?;
    let sum = draft.reduce(op::REDUCE_SUM, powers, &[3])?;
    let sum = draft.select(is_empty, one, sum)?;
    draft.div(powers, sum)
}
