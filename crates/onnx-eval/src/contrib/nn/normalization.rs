//! `SkipLayerNormalization`, `SkipSimplifiedLayerNormalization`, `SimplifiedLayerNormalization` and `EmbedLayerNormalization`:
//! the last axis of a sum of operands, normalized.
//!
//! With a mean, the elements minus their mean are divided by the root of the variance plus `epsilon`; in simplified forms, by
//! the root of the mean square plus `epsilon`. Everything is computed in `double` with a variance in two passes, and rounded
//! once. The last output of the forms with `Skip`, and of `EmbedLayerNormalization`, is the sum that is normalized. The mean
//! and the inverse deviation of the forms with `Skip`, which the processor kernels of onnxruntime do not write, are
//! unsupported.
//!
//! `EmbedLayerNormalization` adds the rows of two or three tables for each token: by the token, by its position, which is the
//! index in the sequence unless it is given, and by its segment. The second output counts the ones in the mask, and is 0
//! without one.

use onnx_schema::attr;
use onnx_schema::onnxruntime::{default, microsoft};
use onnx_types::ElemType;

use crate::contrib::Row;
use crate::contrib::attributes::float;
use crate::cx::axes::{axis, product};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::broadcast::{for_each_piece, joined, repeated};
use crate::ops::math::cast::put_real;
use crate::ops::tensor::gather::index;

pub(in crate::contrib) const KERNELS: &[Row] = &[
    (default::SIMPLIFIED_LAYER_NORMALIZATION, simplified),
    (microsoft::EMBED_LAYER_NORMALIZATION, embed),
    (microsoft::SKIP_LAYER_NORMALIZATION, |cx| skip(cx, true, 4)),
    (microsoft::SKIP_SIMPLIFIED_LAYER_NORMALIZATION, |cx| skip(cx, false, 3)),
];

/// What is done to each row.
struct Norm {
    scale: Vec<f64>,
    shift: Option<Vec<f64>>,
    is_centered: bool,
    epsilon: f64,
}

impl Norm {
    /// Scale and shift are inputs; they have one element for each element of a row.
    fn read(
        cx: &mut Cx<'_, '_>,
        inputs: (usize, Option<usize>),
        width: usize,
        (is_centered, epsilon): (bool, f32),
    ) -> Outcome<Self> {
        let epsilon = float(cx, "epsilon")?.unwrap_or_else(|| epsilon.into());
        let scale = cx.tensor(inputs.0)?;
        let scale = cx.read_f64(&scale)?.into_vec();
        let shift = match inputs.1 {
            Some(input) => cx.optional(input)?.map(|shift| cx.read_f64(&shift)).transpose()?,
            None => None,
        };
        let shift = shift.map(crate::number::Elems::into_vec);
        if scale.len() != width || shift.as_ref().is_some_and(|shift| shift.len() != width) {
            return Err(Stop::failed("the scale or the shift does not fit the last axis"));
        }
        Ok(Self { scale, shift, is_centered, epsilon })
    }

    /// Normalizes a row in place; returns the inverse deviation.
    fn apply(&self, row: &mut [f64]) -> f64 {
        let count = row.len() as f64;
        let mean = if self.is_centered { row.iter().sum::<f64>() / count } else { 0.0 };
        let variance = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        let inverse = 1.0 / (variance + self.epsilon).sqrt();
        for (at, value) in row.iter_mut().enumerate() {
            let shift = self.shift.as_ref().map_or(0.0, |shift| shift[at]);
            *value = (*value - mean) * inverse * self.scale[at] + shift;
        }
        inverse
    }
}

fn simplified(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let along = axis(cx.int_or(attr::AXIS, -1)?, x.rank())?;
    let width = product(&x.dims[along..]);
    let norm = Norm::read(cx, (1, None), width, (false, 1e-5))?;
    let scale = cx.tensor(1)?;
    let mut values = cx.read_f64(&x)?.into_vec();
    cx.work(x.count.saturating_mul(4))?;
    let inverses: Vec<f64> = values.chunks_mut(width.max(1)).map(|row| norm.apply(row)).collect();
    put_real(cx, 0, scale.elem, &x.dims, &values)?;
    if !cx.wants(1) {
        return Ok(());
    }
    let mut dims: Dims = x.dims[..along].into();
    dims.extend(x.dims[along..].iter().map(|_| 1));
    put_real(cx, 1, ElemType::Float, &dims, &inverses)
}

/// Adds an operand that broadcasts to the sizes.
fn add(cx: &mut Cx<'_, '_>, dims: &[usize], sums: &mut [f64], operand: &Operand) -> Outcome {
    if joined(&[dims, &operand.dims])?.as_slice() != dims {
        return Err(Stop::failed("an operand does not broadcast to the input"));
    }
    let values = cx.read_f64(operand)?;
    if sums.is_empty() {
        return Ok(());
    }
    let steps = [repeated(dims, dims), repeated(&operand.dims, dims)];
    for_each_piece(cx.poll(), dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
        for (i, sum) in sums[at..at + length].iter_mut().enumerate() {
            *sum += values[from + i * step];
        }
    })
}

fn skip(cx: &mut Cx<'_, '_>, is_centered: bool, bias: usize) -> Outcome {
    if cx.wants(1) || cx.wants(2) {
        return Err(Stop::unsupported("the statistics as outputs"));
    }
    let (x, skipped, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(bias)?);
    let width = x.dims.last().copied().unwrap_or(1);
    let norm = Norm::read(cx, (2, is_centered.then_some(3)), width, (is_centered, 1e-12))?;
    let mut values = cx.read_f64(&x)?.into_vec();
    add(cx, &x.dims, &mut values, &skipped)?;
    if let Some(bias) = bias {
        add(cx, &x.dims, &mut values, &bias)?;
    }
    if cx.wants(3) {
        put_real(cx, 3, x.elem, &x.dims, &values)?;
    }
    cx.work(x.count.saturating_mul(4))?;
    values.chunks_mut(width.max(1)).for_each(|row| {
        norm.apply(row);
    });
    put_real(cx, 0, x.elem, &x.dims, &values)
}

fn embed(cx: &mut Cx<'_, '_>) -> Outcome {
    let tokens = cx.tensor(0)?;
    let words = cx.tensor(2)?;
    let (&[batch, length], &[_, width]) = (&tokens.dims[..], &words.dims[..]) else {
        return Err(Stop::failed("the tokens or the table of words are not matrices"));
    };
    let norm = Norm::read(cx, (5, Some(6)), width, (true, 1e-12))?;
    let dims = [batch, length, width];
    let mut sums = cx.filled(cx.count(&dims)?, 0.0)?;
    let ids = cx.read::<i64>(&tokens)?;
    add_rows(cx, &words, &ids, &mut sums, width)?;
    let positions = match cx.optional(8)? {
        Some(given) if given.count == length || given.count == tokens.count => {
            cx.read::<i64>(&given)?.into_vec()
        }
        Some(_) => return Err(Stop::failed("the positions do not fit the tokens")),
        None => (0..length as i64).collect(),
    };
    let positions: Vec<i64> = positions.iter().copied().cycle().take(tokens.count).collect();
    let table = cx.tensor(3)?;
    add_rows(cx, &table, &positions, &mut sums, width)?;
    match (cx.optional(1)?, cx.optional(4)?) {
        (Some(segments), Some(table)) if segments.dims == tokens.dims => {
            let segments = cx.read::<i64>(&segments)?;
            add_rows(cx, &table, &segments, &mut sums, width)?;
        }
        (None, None) => {}
        _ => {
            return Err(Stop::failed(
                "`segment_ids` and `segment_embedding` are given both or neither, and the ids have the sizes of `input_ids`",
            ));
        }
    }
    if cx.wants(2) {
        put_real(cx, 2, words.elem, &dims, &sums)?;
    }
    cx.work(sums.len().saturating_mul(4))?;
    sums.chunks_mut(width.max(1)).for_each(|row| {
        norm.apply(row);
    });
    put_real(cx, 0, words.elem, &dims, &sums)?;
    let mut counts = vec![0_i64; batch];
    if let Some(mask) = cx.optional(7)? {
        if mask.dims != tokens.dims {
            return Err(Stop::failed("the mask does not fit the tokens"));
        }
        let mask = cx.read::<i64>(&mask)?;
        for (count, row) in counts.iter_mut().zip(mask.chunks(length.max(1))) {
            *count = row.iter().filter(|&&bit| bit == 1).count() as i64;
        }
    }
    cx.put::<i64>(1, ElemType::Int32, &[batch], counts)
}

/// Adds the rows of a table to the vectors of all tokens.
fn add_rows(cx: &mut Cx<'_, '_>, table: &Operand, ids: &[i64], sums: &mut [f64], width: usize) -> Outcome {
    let &[rows, columns] = &table.dims[..] else { return Err(Stop::failed("a table is not a matrix")) };
    if columns != width {
        return Err(Stop::failed("the tables have different widths"));
    }
    let values = cx.read_f64(table)?;
    for (vector, &id) in sums.chunks_mut(width.max(1)).zip(ids) {
        let start = index(id, rows)? * width;
        vector.iter_mut().zip(&values[start..start + width]).for_each(|(sum, value)| *sum += value);
    }
    Ok(())
}
