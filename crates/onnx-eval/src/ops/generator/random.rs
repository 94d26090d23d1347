//! `Bernoulli`, `Multinomial`, `RandomNormal`, `RandomNormalLike`, `RandomUniform`, `RandomUniformLike`: tensors of random
//! numbers.
//!
//! An element depends on the seed, the name of the node (of its first output if it has none) and the index of the element
//! only, so it is the same on every platform, in every order of nodes and in every iteration of a loop. The seed is that of the
//! attribute, by its bits as `float`, or that of the run. With `mix` the output function of splitmix64, the state of a node is
//! `mix(seed)`, then for each byte of the name `mix(state ^ byte)`; draw `k` is the upper bits of
//! `mix(state + (k + 1)·0x9e3779b97f4a7c15)`, as in splitmix64. A uniform number has as many bits as the output type holds, so 1
//! does not occur in [0, 1). A normal number is the cosine of Box and Muller, of draws `2k` and `2k + 1`. The numbers are not
//! those of another engine with the same seed: the specification does not prescribe a generator.
//!
//! `Multinomial` takes logarithms of probabilities up to a constant. A probability outside [0, 1] fails.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::number::{Number, by_float, by_number};
use crate::random::{at, mix};
use crate::registry::{OpKernels, Row, Takes, eval, since};

const NORMAL: &[Row] = &[since(1, |cx| shaped(cx, normal))];
const NORMAL_LIKE: &[Row] = &[since(1, |cx| like(cx, normal))];
const UNIFORM: &[Row] = &[since(1, |cx| shaped(cx, uniform))];
const UNIFORM_LIKE: &[Row] = &[since(1, |cx| like(cx, uniform))];

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::BERNOULLI, &[since(15, bernoulli)]).takes(&[(0, Takes::Within(0.0, 1.0))]),
    eval(op::MULTINOMIAL, &[since(7, multinomial)]),
    eval(op::RANDOM_NORMAL, NORMAL),
    eval(op::RANDOM_NORMAL_LIKE, NORMAL_LIKE),
    eval(op::RANDOM_UNIFORM, UNIFORM),
    eval(op::RANDOM_UNIFORM_LIKE, UNIFORM_LIKE),
];

/// The draws of a node.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Draws(u64);

impl Draws {
    fn new(cx: &Cx<'_, '_>) -> Outcome<Self> {
        Ok(Self::seeded(cx, cx.float(attr::SEED)?.map(|seed| u64::from(seed.to_bits()))))
    }

    /// The draws for a seed, or for that of the run.
    pub(in crate::ops) fn seeded(cx: &Cx<'_, '_>, seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or_else(|| cx.seed());
        let own = cx.model.str(cx.node.name());
        let output = cx.node.output(0).map(|value| cx.model.str(cx.model.value(value).name()));
        let name = if own.is_empty() { output.unwrap_or_default() } else { own };
        Self(name.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte))))
    }

    /// A number in [0, 1) of at most 53 bits.
    pub(in crate::ops) fn unit(self, index: usize, bits: u32) -> f64 {
        let word = at(self.0, index) >> (64 - bits);
        word as f64 / (1_u64 << bits) as f64
    }
}

type Draw = fn(&Cx<'_, '_>, ElemType) -> Outcome<Box<dyn Fn(Draws, usize) -> f64>>;

fn normal(cx: &Cx<'_, '_>, _: ElemType) -> Outcome<Box<dyn Fn(Draws, usize) -> f64>> {
    let (mean, scale) = (cx.float_or(attr::MEAN, 0.0)?, cx.float_or(attr::SCALE, 1.0)?);
    Ok(Box::new(move |draws, index| {
        let radius = (-2.0 * libm::log(1.0 - draws.unit(index.wrapping_mul(2), 53))).sqrt();
        let angle = 2.0 * std::f64::consts::PI * draws.unit(index.wrapping_mul(2).wrapping_add(1), 53);
        f64::from(mean) + f64::from(scale) * radius * libm::cos(angle)
    }))
}

fn uniform(cx: &Cx<'_, '_>, elem: ElemType) -> Outcome<Box<dyn Fn(Draws, usize) -> f64>> {
    let (low, high) = (f64::from(cx.float_or(attr::LOW, 0.0)?), f64::from(cx.float_or(attr::HIGH, 1.0)?));
    let bits = match elem {
        ElemType::Double => 53,
        ElemType::Float16 => 11,
        ElemType::Bfloat16 => 8,
        _ => 24,
    };
    Ok(Box::new(move |draws, index| low + draws.unit(index, bits) * (high - low)))
}

fn shaped(cx: &mut Cx<'_, '_>, draw: Draw) -> Outcome {
    let elem = cx.elem_attribute(attr::DTYPE)?.unwrap_or(ElemType::Float);
    let sizes = cx.ints(attr::SHAPE)?.ok_or_else(|| Stop::failed("attribute `shape` is missing"))?;
    fill(cx, elem, &axes::sizes(&sizes)?, draw)
}

fn like(cx: &mut Cx<'_, '_>, draw: Draw) -> Outcome {
    let x = cx.tensor(0)?;
    let elem = cx.elem_attribute(attr::DTYPE)?.unwrap_or(x.elem);
    fill(cx, elem, &x.dims, draw)
}

fn fill(cx: &mut Cx<'_, '_>, elem: ElemType, dims: &[usize], draw: Draw) -> Outcome {
    let (count, draws) = (cx.count(dims)?, Draws::new(cx)?);
    let value = draw(cx, elem)?;
    by_float!(elem, T => {
        let mut out = cx.buffer(count)?;
        cx.poll().generate(count, &mut out, |index| T::of_f64(value(draws, index)))?;
        cx.put::<T>(0, elem, dims, out)
    })
}

fn bernoulli(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let elem = cx.elem_attribute(attr::DTYPE)?.unwrap_or(x.elem);
    let draws = Draws::new(cx)?;
    let chances = cx.read_f64(&x)?;
    if !chances.iter().all(|chance| (0.0..=1.0).contains(chance)) {
        return Err(Stop::failed("a probability is not between 0 and 1"));
    }
    by_number!(elem, T => {
        let mut out = cx.buffer(x.count)?;
        let hit = |index: usize| T::of_i64((draws.unit(index, 53) < chances[index]).into());
        cx.poll().generate(chances.len(), &mut out, hit)?;
        cx.put::<T>(0, elem, &x.dims, out)
    })
}

fn multinomial(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let elem = cx.elem_attribute(attr::DTYPE)?.unwrap_or(ElemType::Int32);
    if !matches!(elem, ElemType::Int32 | ElemType::Int64) {
        return Err(Stop::failed("attribute `dtype` is neither `int32` nor `int64`"));
    }
    let samples = axes::size(cx.int_or(attr::SAMPLE_SIZE, 1)?)?;
    let [rows, classes] = *x.dims else { return Err(Stop::failed("the input must be a matrix")) };
    let draws = Draws::new(cx)?;
    let logits = cx.read_f64(&x)?;
    let count = cx.count(&[rows, samples])?;
    let mut out = cx.buffer(count)?;
    cx.budget.allocate(classes, size_of::<f64>())?;
    // Two searches for each sample.
    let each = classes.checked_ilog2().map_or(2, |steps| 2 + 2 * steps as usize);
    cx.work(count.saturating_mul(each))?;
    for row in 0..rows {
        cx.poll().step(classes.saturating_add(samples.saturating_mul(each)))?;
        let logits = logits.get(row * classes..(row + 1) * classes).unwrap_or_default();
        let sums = sums(logits)?;
        let total = sums.last().copied().unwrap_or(0.0);
        for sample in 0..samples {
            let point = draws.unit(row * samples + sample, 53) * total;
            // `point` is less than the total unless rounding made them equal: then it is the last class with a probability.
            let found = sums.partition_point(|&sum| sum <= point);
            let last = sums.partition_point(|&sum| sum < total);
            out.push(found.min(last) as i64);
        }
    }
    cx.put::<i64>(0, elem, &[rows, samples], out)
}

/// The sums of the probabilities up to each class, up to a factor.
fn sums(logits: &[f64]) -> Outcome<Vec<f64>> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() || logits.iter().any(|logit| logit.is_nan()) {
        return Err(Stop::failed("a row has no class with a finite probability"));
    }
    let mut sum = 0.0;
    Ok(logits
        .iter()
        .map(|logit| {
            sum += libm::exp(logit - most);
            sum
        })
        .collect())
}
