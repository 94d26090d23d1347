//! `CausalConvWithState`: each channel of `[batch, channels, length]` convolved with its own kernel of `k` elements, which sees
//! the element itself and the `k - 1` before it.
//!
//! The elements before the first one are the state of an earlier run, or 0; the last `k - 1` elements of both are the next
//! state, which is copied. Computed in `double`, activation included, and rounded once; the reference rounds before the
//! activation.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CAUSAL_CONV_WITH_STATE, &[since(27, convolve)]).open();

fn convolve(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, w, b, past) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?, cx.optional(3)?);
    let is_swish = match cx.text(attr::ACTIVATION)? {
        "" | "none" => false,
        "silu" | "swish" => true,
        _ => return Err(Stop::failed("attribute `activation` names no activation")),
    };
    let (&[batch, channels, length], &[filters, 1, taps]) = (&x.dims[..], &w.dims[..]) else {
        return Err(Stop::failed("the input or the weights have not the sizes [B, C, L] and [C, 1, k]"));
    };
    let before = taps.checked_sub(1).filter(|_| filters == channels);
    let before =
        before.ok_or_else(|| Stop::failed("there is not one kernel with elements for each channel"))?;
    if b.as_ref().is_some_and(|b| *b.dims != [channels]) {
        return Err(Stop::failed("the bias has not one element for each channel"));
    }
    let padded = padded(cx, &x, past.as_ref(), before)?;
    let weights = cx.read_f64(&w)?;
    let bias = b.map(|b| cx.read_f64(&b)).transpose()?;
    cx.work(x.count.saturating_mul(taps))?;
    let (mut out, mut state) = (cx.buffer(x.count)?, cx.buffer(cx.count(&[batch, channels, before])?)?);
    let whole = length.saturating_add(before);
    for at in 0..batch * channels {
        let line = &padded[at * whole..(at + 1) * whole];
        let channel = at % channels;
        let kernel = &weights[channel * taps..(channel + 1) * taps];
        let bias = bias.as_ref().map_or(0.0, |bias| bias[channel]);
        for start in 0..length {
            cx.poll().step(taps)?;
            let sum: f64 = kernel.iter().zip(&line[start..]).map(|(weight, value)| weight * value).sum();
            let value = sum + bias;
            out.push(if is_swish { value / (1.0 + libm::exp(-value)) } else { value });
        }
        state.extend_from_slice(&line[length..]);
    }
    put_real(cx, 0, x.elem, &x.dims, &out)?;
    put_real(cx, 1, x.elem, &[batch, channels, before], &state)
}

/// The elements of each channel behind those of the state.
fn padded(cx: &mut Cx<'_, '_>, x: &Operand, past: Option<&Operand>, before: usize) -> Outcome<Vec<f64>> {
    let [batch, channels, length] = *x.dims else { return Ok(Vec::new()) };
    if past.is_some_and(|past| *past.dims != [batch, channels, before]) {
        return Err(Stop::failed("the state has not the sizes [B, C, k - 1]"));
    }
    let whole = length.saturating_add(before);
    // The sizes are gone through even if one of them is 0.
    cx.count(&[batch.max(1), channels.max(1), whole.max(1)])?;
    let elements = cx.read_f64(x)?;
    let past = past.map(|past| cx.read_f64(past)).transpose()?;
    let mut padded = cx.buffer(cx.count(&[batch, channels, whole])?)?;
    for at in 0..batch * channels {
        match &past {
            Some(past) => padded.extend_from_slice(&past[at * before..(at + 1) * before]),
            None => padded.resize(padded.len() + before, 0.0),
        }
        padded.extend_from_slice(&elements[at * length..(at + 1) * length]);
    }
    Ok(padded)
}
