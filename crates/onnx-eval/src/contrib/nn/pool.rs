//! `QLinearGlobalAveragePool`: the mean of all elements of a channel, of quantized numbers.
//!
//! The mean is computed in `double` from exact sums, and rounded once to a code, ties to even.

use onnx_schema::onnxruntime::microsoft;

use crate::contrib::Row;
use crate::contrib::quant::Scheme;
use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::ops::quant::linear::put_quantized;

pub(in crate::contrib) const KERNELS: &[Row] = &[(microsoft::Q_LINEAR_GLOBAL_AVERAGE_POOL, mean)];

fn mean(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (from, to) = (Scheme::read(cx, 1, x.elem)?, Scheme::read(cx, 3, x.elem)?);
    let &[batch, ref rest @ ..] = x.dims.as_slice() else {
        return Err(Stop::failed("the input has no axes"));
    };
    let is_last = cx.flag("channels_last")?;
    let channel = if is_last { rest.last() } else { rest.first() };
    let &channels = channel.ok_or_else(|| Stop::failed("the input has fewer than two axes"))?;
    let plane = if is_last { product(&rest[..rest.len() - 1]) } else { product(&rest[1..]) };
    let mut dims: Dims = x.dims.iter().map(|_| 1).collect();
    let at = if is_last { x.rank() - 1 } else { 1 };
    (dims[0], dims[at]) = (batch, channels);
    let values = cx.read_f64(&x)?;
    let mut sums = cx.filled(cx.count(&[batch, channels])?, 0.0)?;
    for (index, value) in values.iter().enumerate() {
        let sum =
            if is_last { index / (plane * channels) * channels + index % channels } else { index / plane };
        sums[sum] += from.value(*value);
    }
    let codes: Vec<f64> = sums.iter().map(|sum| to.code(sum / plane as f64)).collect();
    put_quantized(cx, to.elem, &dims, &codes)
}
