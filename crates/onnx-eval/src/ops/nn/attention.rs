//! `Attention`: `softmax(Q·Kᵀ * scale + mask) · V` for each head.
//!
//! Everything is computed in `double` and rounded once, except that the scores are rounded to `softmax_precision` where it is
//! given. The cap of the scores comes before the masks. A causal mask ends at the last key for the last query, shifted by
//! the keys that precede the queries. A key that a mask excludes does not take part, whatever its score is; a query without
//! keys gives 0, in the probabilities too. The output of the scores is, by mode, the scaled product, that with the cap, that with
//! the masks, or the probabilities. Masks that are shorter than the keys exclude the rest. Groups of queries share the heads of
//! keys in blocks.

use onnx_schema::{attr, op};
use onnx_types::{ElemType, Symbol};

use crate::cx::axes::size;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::gemm::{Matrix, products, work};
use crate::number::round_all;
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::ATTENTION, &[since(23, attend)]).open();

/// Queries, keys or values as `[batch, heads, steps, width]`.
struct Heads {
    batch: usize,
    heads: usize,
    steps: usize,
    width: usize,
    values: Vec<f64>,
}

impl Heads {
    fn read(cx: &mut Cx<'_, '_>, index: usize, name: Symbol) -> Outcome<Self> {
        let operand = cx.tensor(index)?;
        let elements = cx.read_f64(&operand)?.into_vec();
        countable(cx, &operand.dims)?;
        match operand.dims[..] {
            [batch, heads, steps, width] => Ok(Self { batch, heads, steps, width, values: elements }),
            [batch, steps, all] => {
                let heads = size(cx.int_or(name, 0)?)?;
                if heads == 0 || all % heads != 0 {
                    return Err(Stop::failed(format_args!("{all} elements are not those of {heads} heads")));
                }
                let width = all / heads;
                // Without elements, any number divides them.
                countable(cx, &[batch, heads, steps, width])?;
                let mut values = cx.buffer(elements.len())?;
                for n in 0..batch {
                    for (head, step) in (0..heads).flat_map(|head| (0..steps).map(move |step| (head, step))) {
                        let start = ((n * steps + step) * heads + head) * width;
                        values.extend_from_slice(&elements[start..start + width]);
                    }
                }
                Ok(Self { batch, heads, steps, width, values })
            }
            _ => Err(Stop::failed(format_args!("input {index} has neither three nor four axes"))),
        }
    }

    fn head(&self, n: usize, head: usize) -> &[f64] {
        let count = self.steps * self.width;
        let start = (n * self.heads + head) * count;
        &self.values[start..start + count]
    }

    /// Puts the steps of an earlier run before these.
    fn join(&mut self, cx: &mut Cx<'_, '_>, past: &Operand) -> Outcome<usize> {
        let &[batch, heads, steps, width] = &past.dims[..] else {
            return Err(Stop::failed(format_args!("the past has {} axes instead of four", past.rank())));
        };
        if [batch, heads, width] != [self.batch, self.heads, self.width] {
            let expected = [self.batch, self.heads, steps, self.width];
            return Err(Stop::wrong_sizes("the past of keys or values", &past.dims, &expected));
        }
        countable(cx, &past.dims)?;
        let earlier = cx.read_f64(past)?;
        let mut values = cx.buffer(earlier.len().saturating_add(self.values.len()))?;
        let (old, new) = (steps * width, self.steps * width);
        for at in 0..batch * heads {
            values.extend_from_slice(&earlier[at * old..(at + 1) * old]);
            values.extend_from_slice(&self.values[at * new..(at + 1) * new]);
        }
        self.values = values;
        self.steps += steps;
        Ok(steps)
    }

    fn dims(&self) -> [usize; 4] {
        [self.batch, self.heads, self.steps, self.width]
    }
}

/// Checks that the sizes can be multiplied, and counts the work of going through them, even if one of them is 0.
fn countable(cx: &mut Cx<'_, '_>, dims: &[usize]) -> Outcome {
    let dims: Dims = dims.iter().map(|&size| size.max(1)).collect();
    cx.work(cx.count(&dims)?)
}

/// The bias of the scores.
struct Masks {
    /// Sizes of the given mask, as four axes, and its elements; truth values are 0 or negative infinity.
    given: Option<([usize; 4], Vec<f64>)>,
    is_causal: bool,
    /// Number of keys before and after the index of a query that take part.
    window: [Option<i64>; 2],
    /// The place of the first query among the keys, for each batch.
    offsets: Vec<i64>,
    /// The number of keys that count, for each batch.
    lengths: Option<Vec<i64>>,
}

impl Masks {
    fn read(cx: &mut Cx<'_, '_>, past: Option<usize>, q: &Heads, keys: usize) -> Outcome<Self> {
        let lengths = if cx.since() >= 24 { cx.optional_list(6)? } else { None };
        if let Some(lengths) = &lengths
            && (past.is_some() || lengths.len() != q.batch)
        {
            return Err(Stop::failed(format_args!(
                "`nonpad_kv_seqlen` has {} elements for a batch of {}, or there is a past, too",
                lengths.len(),
                q.batch
            )));
        }
        let offsets = match (&lengths, past) {
            (Some(lengths), _) => {
                lengths.iter().map(|length| length.saturating_sub(q.steps as i64)).collect()
            }
            (None, past) => vec![past.unwrap_or(0) as i64; q.batch],
        };
        let side = |name| -> Outcome<Option<i64>> {
            match if cx.since() >= 25 { cx.int_or(name, -1)? } else { -1 } {
                -1 => Ok(None),
                width if width >= 0 => Ok(Some(width)),
                width => Err(Stop::failed(format_args!("{width} is not the size of a window"))),
            }
        };
        let window = [side(attr::LEFT_WINDOW_SIZE)?, side(attr::RIGHT_WINDOW_SIZE)?];
        let is_causal = cx.flag(attr::IS_CAUSAL)?;
        let given = match cx.optional(3)? {
            Some(mask) => Some(given(cx, &mask, [q.batch, q.heads, q.steps, keys])?),
            None => None,
        };
        Ok(Self { given, is_causal, window, offsets, lengths })
    }

    /// The bias of the score of a query and a key; `None` excludes the key.
    fn bias(&self, n: usize, head: usize, query: usize, key: usize) -> Option<f64> {
        let place = (query as i64).saturating_add(self.offsets[n]);
        let at = key as i64;
        let is_out = self.is_causal && at > place
            || self.window[0].is_some_and(|left| at < place.saturating_sub(left))
            || self.window[1].is_some_and(|right| at > place.saturating_add(right))
            || self.lengths.as_ref().is_some_and(|lengths| at >= lengths[n]);
        if is_out {
            return None;
        }
        let Some((dims, elements)) = &self.given else { return Some(0.0) };
        if key >= dims[3] {
            return None;
        }
        let index = [n, head, query, key]
            .iter()
            .zip(dims)
            .fold(0, |index, (&at, &size)| index * size + if size == 1 { 0 } else { at });
        Some(elements[index]).filter(|&bias| bias != f64::NEG_INFINITY)
    }
}

fn given(cx: &mut Cx<'_, '_>, mask: &Operand, full: [usize; 4]) -> Outcome<([usize; 4], Vec<f64>)> {
    let mut dims = [1; 4];
    let start = 4_usize.checked_sub(mask.rank()).ok_or_else(|| Stop::failed("the mask has too many axes"))?;
    dims[start..].copy_from_slice(&mask.dims);
    let fits = dims[..3].iter().zip(&full[..3]).all(|(&size, &full)| size == 1 || size == full);
    let last = if cx.since() >= 24 { dims[3] <= full[3] } else { dims[3] == full[3] };
    let is_spread = dims[3] == 1 && full[3] != 1;
    if !fits || !(last || is_spread) || mask.rank() == 0 {
        return Err(Stop::failed(format_args!(
            "a mask of the sizes {:?} does not broadcast to the scores {full:?}",
            mask.dims
        )));
    }
    let mut elements = cx.read_f64(mask)?.into_vec();
    if mask.elem == ElemType::Bool {
        elements.iter_mut().for_each(|bit| *bit = if *bit == 0.0 { f64::NEG_INFINITY } else { 0.0 });
    }
    if is_spread && cx.since() < 24 {
        let mut spread = cx.buffer(elements.len().saturating_mul(full[3]))?;
        spread.extend(elements.iter().flat_map(|&bias| std::iter::repeat_n(bias, full[3])));
        dims[3] = full[3];
        elements = spread;
    }
    Ok((dims, elements))
}

fn attend(cx: &mut Cx<'_, '_>) -> Outcome {
    let (query, value) = (cx.tensor(0)?, cx.tensor(2)?);
    let q = Heads::read(cx, 0, attr::Q_NUM_HEADS)?;
    let (mut k, mut v) = (Heads::read(cx, 1, attr::KV_NUM_HEADS)?, Heads::read(cx, 2, attr::KV_NUM_HEADS)?);
    let past = match (cx.optional(4)?, cx.optional(5)?) {
        (Some(keys), Some(values)) => {
            v.join(cx, &values)?;
            Some(k.join(cx, &keys)?)
        }
        (None, None) => None,
        _ => return Err(Stop::failed("the past has keys or values, but not both")),
    };
    let fits = q.batch == k.batch && k.batch == v.batch && q.width == k.width && k.steps == v.steps;
    if !fits || k.heads != v.heads || k.heads == 0 || q.heads % k.heads != 0 {
        let [q, k, v] = [&q, &k, &v].map(|heads| [heads.batch, heads.heads, heads.steps, heads.width]);
        return Err(Stop::failed(format_args!(
            "queries {q:?}, keys {k:?} and values {v:?} do not fit each other"
        )));
    }
    let masks = Masks::read(cx, past, &q, k.steps)?;
    let scale = cx.float(attr::SCALE)?.map_or_else(|| 1.0 / (q.width as f64).sqrt(), f64::from);
    // The standard multiplies queries and keys by the root of the scale.
    let scale = if scale < 0.0 { f64::NAN } else { scale };
    let cap = f64::from(cx.float_or(attr::SOFTCAP, 0.0)?);
    let mode = cx.int_or(attr::QK_MATMUL_OUTPUT_MODE, 0)?;
    if !(0..=3).contains(&mode) {
        return Err(Stop::failed("`qk_matmul_output_mode` names no output"));
    }
    let precision = cx.elem_attribute_or_zero(attr::SOFTMAX_PRECISION)?.filter(|elem| elem.is_float());
    let settings = Settings { scale, cap, mode, precision };
    let score_dims = [q.batch, q.heads, q.steps, k.steps];
    let wanted = if cx.wants(3) { cx.count(&score_dims)? } else { 0 };
    let mut shown = cx.buffer(wanted)?;
    let mut out = cx.filled(cx.count(&[q.batch, q.heads, q.steps, v.width])?, 0.0)?;
    let mut results = out.chunks_exact_mut((q.steps * v.width).max(1));
    for (n, head) in (0..q.batch).flat_map(|n| (0..q.heads).map(move |head| (n, head))) {
        let (mut scores, other) = (cx.filled(cx.count(&score_dims[2..])?, 0.0)?, head / (q.heads / k.heads));
        work(cx, q.steps, q.width.saturating_add(v.width).saturating_add(8), k.steps)?;
        let keys = Matrix::new(k.head(n, other), k.steps, k.width).transposed();
        let queries = Matrix::new(q.head(n, head), q.steps, q.width);
        products(cx, &mut vec![(queries, keys, &mut scores)])?;
        cx.poll().step(scores.len().saturating_mul(8))?;
        let seen = settings.probabilities(&mut scores, k.steps, |query, key| masks.bias(n, head, query, key));
        shown.extend(seen.into_iter().take(wanted));
        let values = Matrix::new(v.head(n, other), v.steps, v.width);
        if let Some(result) = results.next() {
            products(cx, &mut vec![(Matrix::new(&scores, q.steps, k.steps), values, result)])?;
        }
    }
    put_joined(cx, &query, &q, v.width, &out)?;
    put_real(cx, 1, query.elem, &k.dims(), &k.values)?;
    put_real(cx, 2, value.elem, &v.dims(), &v.values)?;
    if cx.wants(3) { put_real(cx, 3, query.elem, &score_dims, &shown) } else { Ok(()) }
}

struct Settings {
    scale: f64,
    cap: f64,
    mode: i64,
    precision: Option<ElemType>,
}

impl Settings {
    /// Turns products of queries and keys into probabilities; returns what the mode shows.
    fn probabilities(
        &self,
        scores: &mut Vec<f64>,
        keys: usize,
        bias: impl Fn(usize, usize) -> Option<f64>,
    ) -> Vec<f64> {
        let mut shown = Vec::new();
        scores.iter_mut().for_each(|score| *score *= self.scale);
        if self.mode == 0 {
            shown.clone_from(scores);
        }
        if self.cap > 0.0 {
            scores.iter_mut().for_each(|score| *score = self.cap * libm::tanh(*score / self.cap));
        }
        if self.mode == 1 {
            shown.clone_from(scores);
        }
        for (at, score) in scores.iter_mut().enumerate() {
            *score = bias(at / keys, at % keys).map_or(f64::NEG_INFINITY, |bias| *score + bias);
        }
        if self.mode == 2 {
            shown.clone_from(scores);
        }
        if let Some(precision) = self.precision {
            *scores = round_all(precision, scores);
        }
        for row in scores.chunks_exact_mut(keys.max(1)) {
            softmax(row);
        }
        if self.mode == 3 {
            shown.clone_from(scores);
        }
        shown
    }
}

/// A row of negative infinities becomes 0.
fn softmax(row: &mut [f64]) {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if row.iter().all(|&score| score == f64::NEG_INFINITY) {
        row.fill(0.0);
        return;
    }
    row.iter_mut().for_each(|score| *score = libm::exp(*score - max));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|score| *score /= sum);
}

/// Sets the first output; heads lie one after the other where the input has three axes.
fn put_joined(cx: &mut Cx<'_, '_>, query: &Operand, q: &Heads, width: usize, out: &[f64]) -> Outcome {
    if query.rank() == 4 {
        return put_real(cx, 0, query.elem, &[q.batch, q.heads, q.steps, width], out);
    }
    let mut joined = cx.buffer(out.len())?;
    for (n, step) in (0..q.batch).flat_map(|n| (0..q.steps).map(move |step| (n, step))) {
        for head in 0..q.heads {
            let start = ((n * q.heads + head) * q.steps + step) * width;
            joined.extend_from_slice(&out[start..start + width]);
        }
    }
    let dims: Dims = [q.batch, q.steps, q.heads * width].as_slice().into();
    put_real(cx, 0, query.elem, &dims, &joined)
}
