//! `BatchNormalization`: each channel minus its mean, divided by its deviation, scaled and shifted.
//!
//! In training, mean and variance (of the population) are those of the batch, and the running statistics become
//! `running * momentum + batch * (1 - momentum)`. Versions before 14 train if a node names more outputs than the first. A
//! tensor of rank 1 has one channel. Before version 9, `spatial` 0 means statistics of each place, which is supported in
//! inference only.

use onnx_schema::{attr, op};

use crate::cx::axes::product;
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Elems, Number, by_float};
use crate::ops::math::cast::round_to;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::BATCH_NORMALIZATION, &[since(1, normalize)]).open().takes(&[(4, Takes::POSITIVE)]);

/// Scale, bias, mean and variance.
struct Statistics {
    operands: [Operand; 4],
    values: [Elems<f64>; 4],
}

impl Statistics {
    fn read(cx: &mut Cx<'_, '_>, channels: usize) -> Outcome<Self> {
        let operands = [cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?, cx.tensor(4)?];
        if operands.iter().any(|operand| operand.count != channels) {
            return Err(Stop::failed(format_args!("the statistics have not {channels} elements")));
        }
        let [a, b, c, d] = &operands;
        let values = [cx.read_f64(a)?, cx.read_f64(b)?, cx.read_f64(c)?, cx.read_f64(d)?];
        Ok(Self { operands, values })
    }
}

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let is_spatial = cx.since() >= 9 || cx.int_or(attr::SPATIAL, 1)? != 0;
    let is_training = if cx.since() >= 14 {
        cx.flag(attr::TRAINING_MODE)?
    } else {
        (1..cx.output_count()).any(|at| cx.wants(at))
    };
    let (channels, plane) = match &x.dims[..] {
        [] | [_] => (1, 1),
        [_, rest @ ..] if !is_spatial => (product(rest), 1),
        [_, channels, spatial @ ..] => (*channels, product(spatial)),
    };
    let statistics = Statistics::read(cx, channels)?;
    if is_training && !is_spatial {
        return Err(Stop::unsupported("training with statistics of each place"));
    }
    let epsilon = f64::from(cx.float_or(attr::EPSILON, 1e-5)?);
    by_float!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let [scale, bias, mean, variance] = &statistics.values;
        let (mut means, mut variances) = (mean.to_vec(), variance.to_vec());
        if is_training {
            (means, variances) = batch_statistics(&elements, channels, plane);
        }
        let channel = |at: usize| {
            let factor = scale[at] / (variances[at] + epsilon).sqrt();
            (T::of_f64(means[at]), T::of_f64(factor), T::of_f64(bias[at]))
        };
        let mut out = cx.buffer(x.count)?;
        for (at, part) in elements.chunks(plane.max(1)).enumerate() {
            let (mean, factor, bias) = channel(at % channels.max(1));
            out.extend(part.iter().map(|value| value.minus(mean).times(factor).plus(bias)));
        }
        cx.put(0, x.elem, &x.dims, out)?;
        if is_training { put_statistics(cx, &statistics, &means, &variances) } else { Ok(()) }
    })
}

/// Mean and variance of each channel, in two passes.
fn batch_statistics<T: Number>(elements: &[T], channels: usize, plane: usize) -> (Vec<f64>, Vec<f64>) {
    let planes = || elements.chunks(plane.max(1)).enumerate();
    let count = (elements.len() / channels.max(1)) as f64;
    let mut means = vec![0.0; channels];
    planes().for_each(|(at, part)| means[at % channels] += part.iter().map(|value| value.f64()).sum::<f64>());
    means.iter_mut().for_each(|mean| *mean /= count);
    let mut variances = vec![0.0; channels];
    for (at, part) in planes() {
        let mean = means[at % channels];
        variances[at % channels] += part.iter().map(|value| (value.f64() - mean).powi(2)).sum::<f64>();
    }
    variances.iter_mut().for_each(|variance| *variance /= count);
    (means, variances)
}

fn put_statistics(cx: &mut Cx<'_, '_>, given: &Statistics, means: &[f64], variances: &[f64]) -> Outcome {
    let momentum = f64::from(cx.float_or(attr::MOMENTUM, 0.9)?);
    let [_, _, mean, variance] = &given.values;
    for (index, running, batch) in [(1, mean, means), (2, variance, variances)] {
        let operand = &given.operands[index + 1];
        let mixed = running.iter().zip(batch).map(|(old, new)| old * momentum + new * (1.0 - momentum));
        let mixed: Vec<f64> = mixed.collect();
        for (index, values) in [(index, mixed.as_slice()), (index + 2, batch)] {
            if cx.wants(index) {
                let payload = round_to(operand.elem, values, true, Default::default());
                let tensor = cx.tensor_of(operand.elem, &operand.dims, payload)?;
                cx.put_value(index, tensor)?;
            }
        }
    }
    Ok(())
}
