//! `NegativeLogLikelihoodLoss`, `SoftmaxCrossEntropyLoss`: the negative logarithm of the probability of target classes.
//!
//! A target equal to `ignore_index`, which need not be a class, counts nothing. A mean is divided by the sum of the weights of
//! all targets that count, so it is NaN if none does. Sums are computed in `double`.

use onnx_schema::{attr, op};

use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::ops::math::cast::round_to;
use crate::ops::tensor::gather::index;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const NEGATIVE_LOG_LIKELIHOOD_LOSS: OpKernels =
    eval(op::NEGATIVE_LOG_LIKELIHOOD_LOSS, &[since(12, likelihood)])
        .open()
        .takes(&[(1, Takes::Indices { of: 0, axis: Some(1) })]);

pub(super) const SOFTMAX_CROSS_ENTROPY_LOSS: OpKernels =
    eval(op::SOFTMAX_CROSS_ENTROPY_LOSS, &[since(12, cross_entropy)])
        .open()
        .takes(&[(1, Takes::Indices { of: 0, axis: Some(1) })]);

fn likelihood(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let logs = cx.read_f64(&x)?.into_vec();
    loss(cx, &x, &logs)
}

fn cross_entropy(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (classes, plane) = sizes(&x)?;
    let mut logs = cx.read_f64(&x)?.into_vec();
    for block in logs.chunks_mut((classes * plane).max(1)) {
        for at in 0..plane {
            let places = || (0..classes).map(|class| class * plane + at);
            let max = places().fold(f64::NEG_INFINITY, |max, place| max.max(block[place]));
            let sum: f64 = places().map(|place| libm::exp(block[place] - max)).sum();
            let log = libm::log(sum);
            places().for_each(|place| block[place] = block[place] - max - log);
        }
    }
    if cx.wants(1) {
        put(cx, 1, &x, &x.dims, &logs)?;
    }
    loss(cx, &x, &logs)
}

fn put(cx: &mut Cx<'_, '_>, output: usize, x: &Operand, dims: &[usize], values: &[f64]) -> Outcome {
    let payload = round_to(x.elem, values, true, Default::default());
    let tensor = cx.tensor_of(x.elem, dims, payload)?;
    cx.put_value(output, tensor)
}

/// The number of classes, and of elements for each sample and class.
fn sizes(x: &Operand) -> Outcome<(usize, usize)> {
    match &x.dims[..] {
        [_, classes, rest @ ..] => Ok((*classes, product(rest))),
        _ => Err(Stop::failed("the input has fewer than two axes")),
    }
}

fn loss(cx: &mut Cx<'_, '_>, x: &Operand, logs: &[f64]) -> Outcome {
    let (target, weights) = (cx.tensor(1)?, cx.optional(2)?);
    let (classes, plane) = sizes(x)?;
    let mut expected: Dims = x.dims.clone();
    expected.remove(1);
    if target.dims != expected {
        return Err(Stop::wrong_sizes("the target", &target.dims, &expected));
    }
    let weights = match weights {
        Some(weights) if weights.count == classes => Some(cx.read_f64(&weights)?),
        Some(weights) => {
            return Err(Stop::failed(format_args!("{} weights for {classes} classes", weights.count)));
        }
        None => None,
    };
    let ignored = cx.int(attr::IGNORE_INDEX)?;
    let targets = cx.read::<i64>(&target)?;
    let mut losses = cx.buffer::<f64>(target.count)?;
    let mut total = 0.0;
    for (at, &class) in targets.iter().enumerate() {
        if ignored == Some(class) {
            losses.push(0.0);
            continue;
        }
        let class = index(class, classes)?;
        let weight = weights.as_ref().map_or(1.0, |weights| weights[class]);
        let (sample, place) = (at / plane.max(1), at % plane.max(1));
        losses.push(-logs[(sample * classes + class) * plane + place] * weight);
        total += weight;
    }
    match cx.text(attr::REDUCTION)? {
        "none" => put(cx, 0, x, &target.dims, &losses),
        "sum" => put(cx, 0, x, &[], &[losses.iter().fold(0.0, |sum, loss| sum + loss)]),
        "mean" | "" => put(cx, 0, x, &[], &[losses.iter().sum::<f64>() / total]),
        _ => Err(Stop::failed("`reduction` names no reduction")),
    }
}
