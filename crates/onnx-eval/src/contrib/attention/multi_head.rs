//! `Attention`: queries, keys and values as one product of the input, and attention among them for each head.
//!
//! Weights are `[input, queries + keys + values]`; `qkv_hidden_sizes` has the three widths, which are equal by default. A mask
//! adds `mask_filter_value`, -10000 by default, to the scores of excluded keys, so a query without keys sees all of them:
//! `[batch, keys]` and `[batch, queries, keys]` hold truth values, of which those above 0 keep a key; `[batch]` holds the
//! number of keys, and `[2*batch]` their ends and then their beginnings. `unidirectional` adds the same to keys after a query.
//! The sixth input is added to the scores. Everything is computed in `double` and rounded once. A past, a fourth axis of the
//! mask and `do_rotary` are unsupported.

use onnx_schema::onnxruntime::microsoft;

use crate::contrib::Row;
use crate::contrib::attributes::float;
use crate::cx::axes::{size, sizes};
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::family::broadcast::{joined, repeated};
use crate::family::gemm::{Matrix, Product, work};
use crate::ops::math::cast::put_real;

pub(in crate::contrib) const KERNELS: &[Row] = &[(microsoft::ATTENTION, attend)];

/// Sizes of all operands.
struct Sizes {
    batch: usize,
    steps: usize,
    heads: usize,
    /// Widths of queries, keys and values of all heads.
    widths: [usize; 3],
}

impl Sizes {
    fn read(cx: &Cx<'_, '_>, x: &Operand, weights: &Operand) -> Outcome<Self> {
        let (&[batch, steps, input], &[rows, columns]) = (&x.dims[..], &weights.dims[..]) else {
            return Err(Stop::failed("the input has not three axes, or the weights have not two"));
        };
        let heads = size(cx.int_or("num_heads", 0)?)?;
        let widths = match cx.ints("qkv_hidden_sizes")?.filter(|widths| !widths.is_empty()) {
            Some(widths) => sizes(&widths)?.into_vec(),
            None => vec![columns / 3; 3],
        };
        let &[q, k, v] = widths.as_slice() else {
            return Err(Stop::failed("`qkv_hidden_sizes` has not three elements"));
        };
        let total = q.checked_add(k).and_then(|sum| sum.checked_add(v));
        let fits = heads > 0 && q == k && q % heads == 0 && v % heads == 0;
        if !fits || total != Some(columns) || rows != input {
            return Err(Stop::failed("the weights do not fit the input and the heads"));
        }
        // The sizes are gone through even if one of them is 0.
        cx.count(&[batch.max(1), steps.max(1), heads, columns.max(1)])?;
        cx.count(&[batch.max(1), steps.max(1), steps.max(1)])?;
        Ok(Self { batch, steps, heads, widths: [q, k, v] })
    }
}

/// What excludes keys.
struct Masks {
    /// What is added to the score of each query and key, by batch.
    added: Vec<f64>,
    is_causal: bool,
    filter: f64,
    bias: Option<(Vec<f64>, [usize; 4])>,
}

impl Masks {
    fn read(cx: &mut Cx<'_, '_>, sizes: &Sizes) -> Outcome<Self> {
        let filter = float(cx, "mask_filter_value")?.unwrap_or(-10000.0);
        let &Sizes { batch, steps, heads, .. } = sizes;
        let mut added = cx.filled(cx.count(&[batch, steps, steps])?, 0.0)?;
        if let Some(mask) = cx.optional(3)? {
            let values = cx.read::<i64>(&mask)?;
            let keeps: Box<dyn Fn(usize, usize, usize) -> bool> = match *mask.dims {
                [count] if count == batch => Box::new(|n, _, key| (key as i64) < values[n]),
                [count] if Some(count) == batch.checked_mul(2) => {
                    Box::new(|n, _, key| ((values[batch + n])..values[n]).contains(&(key as i64)))
                }
                [rows, keys] if rows == batch && keys == steps => {
                    Box::new(|n, _, key| values[n * steps + key] > 0)
                }
                [rows, queries, keys] if [rows, queries, keys] == [batch, steps, steps] => {
                    Box::new(|n, query, key| values[(n * steps + query) * steps + key] > 0)
                }
                [_] | [_, _] | [_, _, _] => return Err(Stop::failed("the mask does not fit the input")),
                _ => return Err(Stop::unsupported("a mask of this rank")),
            };
            for (at, added) in added.iter_mut().enumerate() {
                let (row, key) = (at / steps, at % steps);
                if !keeps(row / steps, row % steps, key) {
                    *added = filter;
                }
            }
        }
        let bias = match cx.optional(5)? {
            Some(bias) => {
                let full = [batch, heads, steps, steps];
                if bias.rank() != 4 || joined(&[&full, &bias.dims])?.as_slice() != full {
                    return Err(Stop::failed("the bias does not fit the scores"));
                }
                let [a, b, c, d] = *repeated(&bias.dims, &full) else {
                    return Err(Stop::failed("the bias does not fit the scores"));
                };
                Some((cx.read_f64(&bias)?.into_vec(), [a, b, c, d]))
            }
            None => None,
        };
        Ok(Self { added, is_causal: cx.flag("unidirectional")?, filter, bias })
    }

    fn added(&self, n: usize, head: usize, query: usize, key: usize, steps: usize) -> f64 {
        let mut sum = self.added[(n * steps + query) * steps + key];
        if self.is_causal && key > query {
            sum += self.filter;
        }
        if let Some((values, by)) = &self.bias {
            sum += values[n * by[0] + head * by[1] + query * by[2] + key * by[3]];
        }
        sum
    }
}

fn attend(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, weights) = (cx.tensor(0)?, cx.tensor(1)?);
    if cx.has_input(4) || cx.has_input(6) || cx.wants(1) || cx.flag("do_rotary")? {
        return Err(Stop::unsupported("a past, or rotated positions"));
    }
    let sizes = Sizes::read(cx, &x, &weights)?;
    let &Sizes { batch, steps, heads, widths } = &sizes;
    let columns = widths.iter().sum::<usize>();
    let masks = Masks::read(cx, &sizes)?;
    let all = projected(cx, &x, &weights, [batch * steps, columns])?;
    let (width, value_width) = (widths[0] / heads, widths[2] / heads);
    let scale = match float(cx, "scale")? {
        Some(scale) if scale != 0.0 => scale,
        _ => 1.0 / (width as f64).sqrt(),
    };
    let dims = [batch, steps, widths[2]];
    let mut out = cx.filled(cx.count(&dims)?, 0.0)?;
    let mut scores = cx.filled(cx.count(&[steps, steps])?, 0.0)?;
    let mut result = cx.filled(steps * value_width, 0.0)?;
    work(cx, batch * heads, steps * steps, width + value_width + 8)?;
    for (n, head) in (0..batch).flat_map(|n| (0..heads).map(move |head| (n, head))) {
        let part = |from: usize, width: usize| Matrix {
            elements: all.get(n * steps * columns + from + head * width..).unwrap_or_default(),
            rows: steps,
            columns: width,
            row_step: columns,
            column_step: 1,
        };
        f64::product(part(0, width), part(widths[0], width).transposed(), &mut scores, cx.poll())?;
        cx.poll().step(scores.len().saturating_mul(8))?;
        for (at, score) in scores.iter_mut().enumerate() {
            *score = *score * scale + masks.added(n, head, at / steps, at % steps, steps);
        }
        scores.chunks_exact_mut(steps.max(1)).for_each(softmax);
        let values = part(widths[0] + widths[1], value_width);
        f64::product(Matrix::new(&scores, steps, steps), values, &mut result, cx.poll())?;
        for (step, row) in result.chunks_exact(value_width.max(1)).enumerate() {
            let at = (n * steps + step) * widths[2] + head * value_width;
            out[at..at + value_width].copy_from_slice(row);
        }
    }
    put_real(cx, 0, x.elem, &dims, &out)
}

/// Queries, keys and values of all heads, one after the other.
fn projected(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    weights: &Operand,
    [rows, columns]: [usize; 2],
) -> Outcome<Vec<f64>> {
    let (elements, matrix, bias) = (cx.read_f64(x)?, cx.read_f64(weights)?, cx.optional(2)?);
    let mut all = cx.filled(cx.count(&[rows, columns])?, 0.0)?;
    work(cx, rows, weights.dims[0], columns)?;
    let left = Matrix::new(&elements, rows, weights.dims[0]);
    f64::product(left, Matrix::new(&matrix, weights.dims[0], columns), &mut all, cx.poll())?;
    if let Some(bias) = bias {
        if bias.count != columns {
            return Err(Stop::failed("the bias has not one element for each column of the weights"));
        }
        let bias = cx.read_f64(&bias)?;
        all.iter_mut().zip(bias.iter().cycle()).for_each(|(value, bias)| *value += bias);
    }
    Ok(all)
}

fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|score| *score = libm::exp(*score - most));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|score| *score /= sum);
}
