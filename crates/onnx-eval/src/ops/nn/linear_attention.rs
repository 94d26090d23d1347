//! `LinearAttention`: attention without a softmax, by a state `S` of `key × value` elements for each head, which each step
//! changes.
//!
//! At each step, the state is multiplied by the exponential of the decay (`gated`, `gated_delta`), the value that the state has
//! for the key is subtracted from the value and the rest multiplied by `beta` (`delta`, `gated_delta`), and the product of key
//! and value is added. The result is the scaled product of query and state; a scale of 0 is `1/sqrt(key)`. Groups of queries
//! share the heads of keys in blocks. All steps are computed in `double`, in order, and rounded once; the reference computes in
//! `float`. The next state has the type of the state before, or else that of the query. `chunk_size` has no effect.

use onnx_schema::{attr, op};
use onnx_types::Symbol;

use crate::cx::axes::size;
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::Elems;
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::LINEAR_ATTENTION, &[since(27, attend)]).open();

/// Sizes of all operands.
struct Sizes {
    batch: usize,
    steps: usize,
    /// Heads of queries, and of keys and values.
    heads: usize,
    shared: usize,
    key: usize,
    value: usize,
}

impl Sizes {
    fn read(cx: &Cx<'_, '_>) -> Outcome<Self> {
        let count = |name: Symbol| size(cx.int_or(name, 0)?);
        let (heads, shared) = (count(attr::Q_NUM_HEADS)?, count(attr::KV_NUM_HEADS)?);
        if shared == 0 || heads == 0 || heads % shared != 0 {
            return Err(Stop::failed(format_args!("{heads} heads of queries cannot share {shared} heads")));
        }
        let (query, key, value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let (&[batch, steps, q], &[key_batch, key_steps, k], &[value_batch, value_steps, v]) =
            (&query.dims[..], &key.dims[..], &value.dims[..])
        else {
            return Err(Stop::failed("queries, keys and values must have three axes"));
        };
        let fits = [key_batch, value_batch] == [batch; 2]
            && [key_steps, value_steps] == [steps; 2]
            && q % heads == 0
            && k % shared == 0
            && v % shared == 0
            && q / heads == k / shared;
        if !fits {
            return Err(Stop::failed("queries, keys and values do not fit each other"));
        }
        // The sizes are gone through even if one of them is 0.
        cx.count(&[batch.max(1), steps.max(1), heads, (k / shared).max(1), (v / shared).max(1)])?;
        Ok(Self { batch, steps, heads, shared, key: k / shared, value: v / shared })
    }

    /// The elements of one head at one step, among those of all heads.
    fn part<'a>(&self, elements: &'a [f64], n: usize, step: usize, head: usize, width: usize) -> &'a [f64] {
        let heads = elements.len() / (self.batch * self.steps * width).max(1);
        let start = ((n * self.steps + step) * heads + head) * width;
        &elements[start..start + width]
    }
}

/// The operands that change the state in addition to keys and values.
struct Gates {
    /// Decay, and its elements for a head: 1 or as many as a key has.
    decay: Option<(Elems<f64>, usize)>,
    /// Rates, and whether each head has one.
    beta: Option<(Elems<f64>, bool)>,
}

impl Gates {
    fn read(cx: &mut Cx<'_, '_>, sizes: &Sizes) -> Outcome<Self> {
        let (is_gated, is_delta) = match cx.text(attr::UPDATE_RULE)? {
            "linear" => (false, false),
            "gated" => (true, false),
            "delta" => (false, true),
            "gated_delta" => (true, true),
            _ => return Err(Stop::failed("attribute `update_rule` names no rule")),
        };
        let (decay, beta) = (cx.optional(4)?, cx.optional(5)?);
        if decay.is_some() != is_gated || beta.is_some() != is_delta {
            return Err(Stop::failed("the update rule needs other inputs than `decay` and `beta` as given"));
        }
        let last = |operand: &Operand| match *operand.dims {
            [batch, steps, last] if [batch, steps] == [sizes.batch, sizes.steps] => Ok(last),
            _ => Err(Stop::failed("`decay` or `beta` does not fit the queries")),
        };
        let decay = match decay {
            Some(decay) => {
                let width = match last(&decay)? {
                    last if last == sizes.shared => 1,
                    last if last == sizes.shared * sizes.key => sizes.key,
                    _ => return Err(Stop::failed("`decay` fits neither heads nor keys")),
                };
                Some((cx.read_f64(&decay)?, width))
            }
            None => None,
        };
        let beta = match beta {
            Some(beta) => {
                let last = last(&beta)?;
                if last != 1 && last != sizes.shared {
                    return Err(Stop::failed("`beta` does not fit the heads"));
                }
                Some((cx.read_f64(&beta)?, last == sizes.shared))
            }
            None => None,
        };
        Ok(Self { decay, beta })
    }
}

fn attend(cx: &mut Cx<'_, '_>) -> Outcome {
    let sizes = Sizes::read(cx)?;
    let (query, key, value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let gates = Gates::read(cx, &sizes)?;
    let state_dims = [sizes.batch, sizes.shared, sizes.key, sizes.value];
    let (mut state, state_elem) = match cx.optional(3)? {
        Some(past) if *past.dims == state_dims => (cx.read_f64(&past)?.into_vec(), past.elem),
        Some(_) => return Err(Stop::failed("the state does not fit keys and values")),
        None => (cx.filled(cx.count(&state_dims)?, 0.0)?, query.elem),
    };
    let scale = match f64::from(cx.float_or(attr::SCALE, 0.0)?) {
        0.0 => 1.0 / (sizes.key as f64).sqrt(),
        scale => scale,
    };
    let [queries, keys, values] = [cx.read_f64(&query)?, cx.read_f64(&key)?, cx.read_f64(&value)?];
    let dims = [sizes.batch, sizes.steps, sizes.heads * sizes.value];
    let mut out = cx.filled(cx.count(&dims)?, 0.0)?;
    cx.work(state.len().saturating_mul(sizes.steps).saturating_mul(4 + sizes.heads / sizes.shared))?;
    let group = sizes.heads / sizes.shared;
    for (n, head) in (0..sizes.batch).flat_map(|n| (0..sizes.shared).map(move |head| (n, head))) {
        let count = sizes.key * sizes.value;
        let start = (n * sizes.shared + head) * count;
        let state = &mut state[start..start + count];
        for step in 0..sizes.steps {
            cx.poll().step(count.saturating_mul(4 + group))?;
            let k = sizes.part(&keys, n, step, head, sizes.key);
            let v = sizes.part(&values, n, step, head, sizes.value);
            update(state, k, v, &gates, &sizes, [n, step, head]);
            for query in head * group..(head + 1) * group {
                let q = sizes.part(&queries, n, step, query, sizes.key);
                let at = ((n * sizes.steps + step) * sizes.heads + query) * sizes.value;
                let result = &mut out[at..at + sizes.value];
                for (row, q) in state.chunks(sizes.value.max(1)).zip(q) {
                    result.iter_mut().zip(row).for_each(|(sum, element)| *sum += q * element);
                }
                result.iter_mut().for_each(|sum| *sum *= scale);
            }
        }
    }
    put_real(cx, 0, query.elem, &dims, &out)?;
    put_real(cx, 1, state_elem, &state_dims, &state)
}

/// One step of the state of a head.
fn update(
    state: &mut [f64],
    k: &[f64],
    v: &[f64],
    gates: &Gates,
    sizes: &Sizes,
    [n, step, head]: [usize; 3],
) {
    let width = sizes.value.max(1);
    if let Some((decay, per_head)) = &gates.decay {
        let decay = sizes.part(decay, n, step, head, *per_head);
        for (row, decay) in state.chunks_mut(width).zip(decay.iter().cycle()) {
            let factor = libm::exp(*decay);
            row.iter_mut().for_each(|element| *element *= factor);
        }
    }
    let mut new = v.to_vec();
    if let Some((beta, has_heads)) = &gates.beta {
        let beta = sizes.part(beta, n, step, if *has_heads { head } else { 0 }, 1);
        for (row, k) in state.chunks(width).zip(k) {
            new.iter_mut().zip(row).for_each(|(rest, element)| *rest -= k * element);
        }
        new.iter_mut().for_each(|rest| *rest *= beta[0]);
    }
    for (row, k) in state.chunks_mut(width).zip(k) {
        row.iter_mut().zip(&new).for_each(|(element, value)| *element += k * value);
    }
}
