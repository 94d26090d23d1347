//! `QLinearAdd`, `QLinearMul`, `QLinearLeakyRelu`, `QLinearSigmoid`, `QLinearSoftmax`, `QLinearConcat`: operators on quantized
//! numbers.
//!
//! Codes become numbers, the operator is computed in `double`, and the result is rounded once to a code of the scale and zero
//! point of the output, ties to even. onnxruntime rounds in between, and computes functions by tables, so that its codes may
//! differ by 1.

use onnx_schema::attr;
use onnx_schema::onnxruntime::microsoft;

use super::Scheme;
use crate::contrib::Row;
use crate::contrib::activation::sigmoid;
use crate::contrib::attributes::float;
use crate::cx::axes::{axis, product};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::broadcast::map2;
use crate::family::lines::Lines;
use crate::ops::quant::linear::put_quantized;

pub(in crate::contrib) const KERNELS: &[Row] = &[
    (microsoft::Q_LINEAR_ADD, |cx| combine(cx, |a, b| a + b)),
    (microsoft::Q_LINEAR_CONCAT, concat),
    (microsoft::Q_LINEAR_LEAKY_RELU, leaky),
    (microsoft::Q_LINEAR_MUL, |cx| combine(cx, |a, b| a * b)),
    (microsoft::Q_LINEAR_SIGMOID, |cx| each(cx, sigmoid)),
    (microsoft::Q_LINEAR_SOFTMAX, softmax),
];

fn combine(cx: &mut Cx<'_, '_>, function: fn(f64, f64) -> f64) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(3)?);
    let (left, right) = (Scheme::read(cx, 1, a.elem)?, Scheme::read(cx, 4, b.elem)?);
    let to = Scheme::read(cx, 6, a.elem)?;
    let (x, y) = (cx.read_f64(&a)?, cx.read_f64(&b)?);
    let (dims, codes) = map2(cx, (&x, &a.dims), (&y, &b.dims), |x: f64, y: f64| {
        to.code(function(left.value(x), right.value(y)))
    })?;
    put_quantized(cx, to.elem, &dims, &codes)
}

fn leaky(cx: &mut Cx<'_, '_>) -> Outcome {
    let alpha = float(cx, "alpha")?.unwrap_or_else(|| 0.01_f32.into());
    each(cx, |x| if x >= 0.0 { x } else { alpha * x })
}

fn each(cx: &mut Cx<'_, '_>, function: impl Fn(f64) -> f64) -> Outcome {
    let x = cx.tensor(0)?;
    let (from, to) = (Scheme::read(cx, 1, x.elem)?, Scheme::read(cx, 3, x.elem)?);
    let mut codes = cx.read_f64(&x)?.into_vec();
    codes.iter_mut().for_each(|code| *code = to.code(function(from.value(*code))));
    put_quantized(cx, to.elem, &x.dims, &codes)
}

/// Before operator set 13, the tensor is a matrix at the axis, whose rows are the lines.
fn softmax(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (from, to) = (Scheme::read(cx, 1, x.elem)?, Scheme::read(cx, 3, x.elem)?);
    let along = axis(cx.int_or(attr::AXIS, -1)?, x.rank())?;
    let lines = if cx.int_or("opset", 13)? >= 13 {
        Lines::new(&x.dims, along)
    } else {
        Lines { outer: product(&x.dims[..along]), length: product(&x.dims[along..]), inner: 1 }
    };
    let mut values = cx.read_f64(&x)?.into_vec();
    values.iter_mut().for_each(|code| *code = from.value(*code));
    cx.work(x.count.saturating_mul(4))?;
    for start in lines.starts() {
        let places = || (0..lines.length).map(|at| start + at * lines.inner);
        let most = places().map(|place| values[place]).fold(f64::NEG_INFINITY, f64::max);
        places().for_each(|place| values[place] = libm::exp(values[place] - most));
        let sum: f64 = places().map(|place| values[place]).sum();
        places().for_each(|place| values[place] = to.code(values[place] / sum));
    }
    put_quantized(cx, to.elem, &x.dims, &values)
}

/// Each tensor is followed by its scale and its zero point.
fn concat(cx: &mut Cx<'_, '_>) -> Outcome {
    let first = cx.tensor(2)?;
    let to = Scheme::read(cx, 0, first.elem)?;
    let given = cx.int(attr::AXIS)?.ok_or_else(|| Stop::failed("attribute `axis` is missing"))?;
    let along = axis(given, first.rank())?;
    let mut dims: Dims = first.dims;
    dims[along] = 0;
    let mut parts = Vec::new();
    for index in (2..cx.input_count()).step_by(3) {
        let part = cx.tensor(index)?;
        let mut others = part.dims.clone();
        let size = others.get_mut(along).map(std::mem::take).unwrap_or(0);
        let is_beside = |(at, (&a, &b)): (usize, (&usize, &usize))| at == along || a == b;
        if others.len() != dims.len() || !others.iter().zip(&dims).enumerate().all(is_beside) {
            return Err(Stop::failed("the tensors have different sizes outside the axis"));
        }
        dims[along] = dims[along].saturating_add(size);
        let scheme = Scheme::read(cx, index + 1, part.elem)?;
        let block = part.dims[along..].iter().product::<usize>();
        parts.push((scheme, cx.read_f64(&part)?, block));
    }
    let mut codes = cx.buffer(cx.count(&dims)?)?;
    for outer in 0..product(&dims[..along]) {
        for (scheme, values, block) in &parts {
            let own = values.get(outer * block..(outer + 1) * block).unwrap_or_default();
            codes.extend(own.iter().map(|&code| to.code(scheme.value(code))));
        }
    }
    put_quantized(cx, to.elem, &dims, &codes)
}
