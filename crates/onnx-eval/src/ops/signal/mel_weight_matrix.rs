//! `MelWeightMatrix`: triangles with a peak of 1 that collect the bins of a spectrum to bands of the mel scale.
//!
//! The `num_mel_bins + 2` edges are `low + k*(high - low)/(num_mel_bins + 2)` on the mel scale, as in the reference and in
//! runtimes (the last edge is not the upper one), and lie at the bins `floor((dft_length + 1) * hertz / sample_rate)`. Computed
//! in `double`; the reference computes edges in the type of the inputs, so an edge that falls on a bin can be rounded to
//! another one there. Two equal edges at the left make a triangle that begins with its peak. Integer types hold 0 or 1. An edge
//! outside the spectrum fails, as in both engines.

use std::f64::consts::LN_10;

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::MEL_WEIGHT_MATRIX, &[since(17, weights)]).open();

fn weights(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem_attribute(attr::OUTPUT_DATATYPE)?.unwrap_or(ElemType::Float);
    let (bands, length, rate) = (size(cx.scalar_int(0)?)?, size(cx.scalar_int(1)?)?, cx.scalar_int(2)?);
    let rows = length / 2 + 1;
    let dims = [rows, bands];
    let mut out = cx.filled(cx.count(&dims)?, 0.0)?;
    let edges = edges(cx, bands, length, rate)?;
    let outside = || Stop::failed("an edge lies outside the spectrum");
    for (band, edges) in edges.windows(3).enumerate() {
        let &[left, center, right] = edges else { continue };
        let mut set = |row: i64, weight: f64| {
            let row = usize::try_from(row).ok().filter(|&row| row < rows).ok_or_else(outside)?;
            out[row * bands + band] = weight;
            Ok::<(), Stop>(())
        };
        if left == center {
            set(center, 1.0)?;
        }
        // The first row outside ends the loops.
        if left < center {
            (left..=center).try_for_each(|row| set(row, (row - left) as f64 / (center - left) as f64))?;
        }
        (center..right).try_for_each(|row| set(row, (right - row) as f64 / (right - center) as f64))?;
    }
    if !elem.is_float() {
        out.iter_mut().for_each(|weight| *weight = weight.trunc());
    }
    put_real(cx, 0, elem, &dims, &out)
}

/// The bins of the edges of all triangles.
fn edges(cx: &mut Cx<'_, '_>, bands: usize, length: usize, rate: i64) -> Outcome<Vec<i64>> {
    let mut hertz = [0.0; 2];
    for (index, hertz) in hertz.iter_mut().enumerate() {
        let operand = cx.tensor(3 + index)?;
        *hertz = match *cx.read_f64(&operand)? {
            [value] => value,
            _ => return Err(Stop::failed("the edges must have one element")),
        };
    }
    let [low, high] = hertz.map(|hertz| 2595.0 * libm::log1p(hertz / 700.0) / LN_10);
    let count = bands.saturating_add(2);
    let step = (high - low) / count as f64;
    let mut edges = cx.buffer(count)?;
    for k in 0..count {
        let mel = k as f64 * step + low;
        let hertz = 700.0 * libm::expm1(mel / 2595.0 * LN_10);
        let bin = ((length as f64 + 1.0) * hertz / rate as f64).floor();
        if !(0.0..=length as f64).contains(&bin) {
            return Err(Stop::failed("an edge lies outside the spectrum"));
        }
        edges.push(bin as i64);
    }
    Ok(edges)
}
