//! `FlexAttention`: attention with a graph that changes the scores and one that changes the probabilities.
//!
//! The scores, the probabilities and the result are computed in `double`; the scores and the probabilities are rounded to
//! `softmax_precision`, which is `float` or, for `double`, `double` unless it is given: this is the type that the graphs take
//! and return. A row of scores that are all negative infinity is NaN, as `Softmax` defines it, and not 0 as in `Attention`.
//! Groups of queries share the heads of keys in blocks.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::engine::control::{Control, Next};
use crate::family::gemm::{Matrix, Product, work};
use crate::ops::math::cast::{put_real, round_to};
use crate::registry::{OpKernels, eval, since_control};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::FLEX_ATTENTION, &[since_control(1, start)]).open().of(domain::PREVIEW);

/// Which graph runs next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Scores,
    Probabilities,
    Result,
}

struct Flex {
    stage: Stage,
    precision: ElemType,
    /// Sizes of the scores: batch, heads, queries, keys.
    dims: [usize; 4],
    scores: Vec<f64>,
}

fn start(cx: &mut Cx<'_, '_>) -> Outcome<Box<dyn Control>> {
    let (query, key) = (cx.tensor(0)?, cx.tensor(1)?);
    let (dims, width) = sizes(cx)?;
    let [_, heads, queries, keys] = dims;
    let precision = match cx.elem_attribute(attr::SOFTMAX_PRECISION)? {
        Some(elem) if elem.is_float() => elem,
        Some(_) => return Err(Stop::failed("`softmax_precision` is not a float type")),
        None if query.elem == ElemType::Double => ElemType::Double,
        None => ElemType::Float,
    };
    let scale = cx.float(attr::SCALE)?.map_or_else(|| 1.0 / (width as f64).sqrt(), f64::from);
    let group = heads / key.dims[1].max(1);
    let (q, k) = (cx.read_f64(&query)?, cx.read_f64(&key)?);
    let mut scores = cx.filled(cx.count(&dims)?, 0.0)?;
    work(cx, scores.len(), width, 1)?;
    for (at, scores) in scores.chunks_exact_mut((queries * keys).max(1)).enumerate() {
        let other = at / heads * key.dims[1] + at % heads / group;
        let left = Matrix::new(&q[at * queries * width..][..queries * width], queries, width);
        let right = Matrix::new(&k[other * keys * width..][..keys * width], keys, width);
        f64::product(left, right.transposed(), scores, cx.poll())?;
        scores.iter_mut().for_each(|score| *score *= scale);
    }
    Ok(Box::new(Flex { stage: Stage::Scores, precision, dims, scores }))
}

/// Sizes of the scores, and of a query.
fn sizes(cx: &Cx<'_, '_>) -> Outcome<([usize; 4], usize)> {
    let (query, key, value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (
        &[batch, heads, queries, width],
        &[key_batch, shared, keys, key_width],
        &[value_batch, other, steps, _],
    ) = (&query.dims[..], &key.dims[..], &value.dims[..])
    else {
        return Err(Stop::failed("queries, keys and values must have four axes"));
    };
    let fits = [key_batch, value_batch] == [batch; 2] && [other, steps, key_width] == [shared, keys, width];
    if !fits || shared == 0 && heads > 0 || heads.checked_rem(shared).unwrap_or(0) != 0 {
        return Err(Stop::failed("queries, keys and values do not fit each other"));
    }
    // The sizes are gone through even if one of them is 0.
    let longest = queries.max(keys).max(1);
    cx.count(&[batch.max(1), heads.max(1), longest, width.max(value.dims[3]).max(1)])?;
    cx.count(&[queries.max(1), keys.max(1)])?;
    Ok(([batch, heads, queries, keys], width))
}

impl Control for Flex {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            self.take(cx, results)?;
        }
        loop {
            let graph = match self.stage {
                Stage::Scores => attr::SCORE_MOD,
                Stage::Probabilities => attr::PROB_MOD,
                Stage::Result => {
                    self.finish(cx)?;
                    return Ok(Next::Done);
                }
            };
            let payload = round_to(self.precision, &self.scores, true, Default::default());
            let scores = cx.tensor_of(self.precision, &self.dims, payload)?;
            if cx.has_attribute(graph) {
                return Ok(Next::Enter { graph, inputs: vec![scores.into()] });
            }
            self.take(cx, vec![scores.into()])?;
        }
    }
}

impl Flex {
    /// Takes the result of the graph of this stage, and goes to the next one.
    fn take(&mut self, cx: &mut Cx<'_, '_>, mut results: Vec<Value>) -> Outcome {
        let (Some(Value::Tensor(tensor)), true) = (results.pop(), results.is_empty()) else {
            return Err(Stop::failed("a graph must return one tensor"));
        };
        let changed = Operand::new(tensor)?;
        if changed.elem != self.precision || *changed.dims != self.dims {
            return Err(Stop::failed("a graph returns another type than that of the scores"));
        }
        self.scores = cx.read_f64(&changed)?.into_vec();
        if self.stage == Stage::Scores {
            cx.work(self.scores.len().saturating_mul(4))?;
            self.scores.chunks_exact_mut(self.dims[3].max(1)).for_each(softmax);
            self.stage = Stage::Probabilities;
        } else {
            self.stage = Stage::Result;
        }
        Ok(())
    }

    /// Sets the output to the products of probabilities and values.
    fn finish(&self, cx: &mut Cx<'_, '_>) -> Outcome {
        let value = cx.tensor(2)?;
        let [batch, heads, queries, keys] = self.dims;
        let (shared, width) = (value.dims[1], value.dims[3]);
        let dims = [batch, heads, queries, width];
        let v = cx.read_f64(&value)?;
        let mut out = cx.filled(cx.count(&dims)?, 0.0)?;
        work(cx, out.len(), keys, 1)?;
        for (at, result) in out.chunks_exact_mut((queries * width).max(1)).enumerate() {
            let other = at / heads * shared + at % heads / (heads / shared.max(1)).max(1);
            let left = Matrix::new(&self.scores[at * queries * keys..][..queries * keys], queries, keys);
            let right = Matrix::new(&v[other * keys * width..][..keys * width], keys, width);
            f64::product(left, right, result, cx.poll())?;
        }
        put_real(cx, 0, value.elem, &dims, &out)
    }
}

fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|score| *score = libm::exp(*score - most));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|score| *score /= sum);
}
