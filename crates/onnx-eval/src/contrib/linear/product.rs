//! `FusedMatMul`, `TransposeMatMul`, `FusedGemm`, `QGemm`, `MatMulIntegerToFloat` and `DynamicQuantizeMatMul`: products of
//! matrices with what precedes and follows them.
//!
//! `transA` and `transB` exchange the last two axes of an operand, after `transBatchA` and `transBatchB` have moved its first
//! axis behind its batch axes; a vector is not transposed. Products of quantized integers are summed exactly, scaled in
//! `double` and rounded once. `DynamicQuantizeMatMul` quantizes the left operand as `DynamicQuantizeLinear` does, also where
//! all elements are 0: the product is 0 then.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::ElemType;

use crate::contrib::Row;
use crate::contrib::activation::Activation;
use crate::contrib::attributes::float;
use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::broadcast::{for_each_piece, joined, repeated};
use crate::family::gemm::{Matrix, Product, work};
use crate::family::layout::transposed;
use crate::number::{Elems, by_float};
use crate::ops::linear::gemm::gemm;
use crate::ops::linear::matmul::multiply;
use crate::ops::math::cast::put_real;
use crate::ops::quant::dynamic_quantize_linear::parameters;
use crate::ops::quant::linear::{put_quantized, quantized, spread};

pub(in crate::contrib) const KERNELS: &[Row] = &[
    (microsoft::DYNAMIC_QUANTIZE_MAT_MUL, dynamic_matmul),
    (microsoft::FUSED_GEMM, fused_gemm),
    (microsoft::FUSED_MAT_MUL, fused_matmul),
    (microsoft::MAT_MUL_INTEGER_TO_FLOAT, matmul_to_float),
    (microsoft::Q_GEMM, quantized_gemm),
    (microsoft::TRANSPOSE_MAT_MUL, fused_matmul),
];

fn fused_matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let left = order(cx, &a, "transBatchA", "transA")?;
    let right = order(cx, &b, "transBatchB", "transB")?;
    let alpha = float(cx, "alpha")?.unwrap_or(1.0);
    by_float!(a.elem, T => {
        let mut read = |operand: &Operand, order: &[usize]| -> Outcome<(Dims, Elems<T>)> {
            let elements = cx.read::<T>(operand)?;
            let dims = order.iter().map(|&axis| operand.dims[axis]).collect();
            if order.is_sorted() {
                return Ok((dims, elements));
            }
            Ok((dims, Elems::owned(transposed::<T>(cx, &elements, &operand.dims, order)?)))
        };
        let ((a_dims, x), (b_dims, y)) = (read(&a, &left)?, read(&b, &right)?);
        let (dims, mut out) = multiply::<T>(cx, (&x, &a_dims), (&y, &b_dims))?;
        if alpha != 1.0 {
            out.iter_mut().for_each(|value| *value *= alpha as T);
        }
        cx.put(0, a.elem, &dims, out)
    })
}

/// The order of the axes of an operand as two attributes transpose them.
fn order(cx: &Cx<'_, '_>, operand: &Operand, batch: &str, last: &str) -> Outcome<Vec<usize>> {
    let rank = operand.rank();
    let mut order: Vec<usize> = (0..rank).collect();
    if cx.flag(batch)? {
        if rank < 3 {
            return Err(Stop::unsupported(format_args!("`{batch}` of fewer than three axes")));
        }
        order[..rank - 1].rotate_left(1);
    }
    if cx.flag(last)? && rank >= 2 {
        order.swap(rank - 2, rank - 1);
    }
    Ok(order)
}

fn fused_gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    let name = cx.text("activation")?;
    let mut parameters = Vec::new();
    for name in ["activation_alpha", "activation_beta", "activation_gamma"] {
        let Some(value) = float(cx, name)? else { break };
        parameters.push(value);
    }
    let activation = Activation::named(name, &parameters)?;
    gemm(cx)?;
    activation.finish(cx, None)
}

/// The elements minus a zero point, which is one number, or one for each index of the last axis.
fn shifted(cx: &mut Cx<'_, '_>, x: &Operand, zero: Option<&Operand>) -> Outcome<Vec<f64>> {
    let mut elements = cx.read_f64(x)?.into_vec();
    if let Some(zero) = zero {
        let zeros = spread(&cx.read_f64(zero)?, x.dims.last().copied().unwrap_or(1))?;
        elements.iter_mut().zip(zeros.iter().cycle()).for_each(|(element, zero)| *element -= zero);
    }
    Ok(elements)
}

/// One number of an operand.
fn single(cx: &mut Cx<'_, '_>, index: usize) -> Outcome<Option<f64>> {
    let Some(operand) = cx.optional(index)? else { return Ok(None) };
    match *cx.read_f64(&operand)? {
        [value] => Ok(Some(value)),
        _ => Err(Stop::failed(format_args!("input {index} must have one element"))),
    }
}

fn needed(cx: &mut Cx<'_, '_>, index: usize) -> Outcome<f64> {
    single(cx, index)?.ok_or_else(|| Stop::failed(format_args!("input {index} is missing")))
}

/// Sets the output to a product of integers times a factor and the scales of the columns, plus a bias.
fn put_scaled(
    cx: &mut Cx<'_, '_>,
    elem: ElemType,
    (dims, mut sums): (Dims, Vec<f64>),
    factor: f64,
    [scales, bias]: [Option<&Operand>; 2],
) -> Outcome {
    let columns = dims.last().copied().unwrap_or(1);
    if let Some(scales) = scales {
        let scales = spread(&cx.read_f64(scales)?, columns)?;
        sums.iter_mut().zip(scales.iter().cycle()).for_each(|(sum, scale)| *sum *= factor * scale);
    }
    if let Some(bias) = bias {
        if bias.count != columns {
            return Err(Stop::failed("the bias has not one element for each column"));
        }
        let bias = cx.read_f64(bias)?;
        sums.iter_mut().zip(bias.iter().cycle()).for_each(|(sum, bias)| *sum += bias);
    }
    put_real(cx, 0, elem, &dims, &sums)
}

fn matmul_to_float(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b, b_scale) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(3)?);
    let (a_scale, a_zero) = (needed(cx, 2)?, single(cx, 4)?.unwrap_or(0.0));
    let (b_zero, bias) = (cx.optional(5)?, cx.optional(6)?);
    let mut x = shifted(cx, &a, None)?;
    x.iter_mut().for_each(|value| *value -= a_zero);
    let y = shifted(cx, &b, b_zero.as_ref())?;
    let product = multiply::<f64>(cx, (&x, &a.dims), (&y, &b.dims))?;
    put_scaled(cx, b_scale.elem, product, a_scale, [Some(&b_scale), bias.as_ref()])
}

fn dynamic_matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b, b_scale) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (b_zero, bias) = (cx.optional(3)?, cx.optional(4)?);
    let values = cx.read::<f32>(&a)?;
    let (scale, zero) = parameters(&values);
    let codes = values.iter().map(|&value| quantized(ElemType::Uint8, f64::from(value / scale), zero) - zero);
    let x: Vec<f64> = codes.collect();
    let y = shifted(cx, &b, b_zero.as_ref())?;
    let product = multiply::<f64>(cx, (&x, &a.dims), (&y, &b.dims))?;
    put_scaled(cx, a.elem, product, scale.into(), [Some(&b_scale), bias.as_ref()])
}

fn quantized_gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b, b_scale) = (cx.tensor(0)?, cx.tensor(3)?, cx.tensor(4)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (a.dims.as_slice(), b.dims.as_slice()) else {
        return Err(Stop::failed("the operands are not matrices"));
    };
    let (a_scale, a_zero) = (needed(cx, 1)?, single(cx, 2)?.unwrap_or(0.0));
    let (x, y) = (shifted(cx, &a, None)?, cx.read_f64(&b)?.into_vec());
    let x: Vec<f64> = x.iter().map(|value| value - a_zero).collect();
    let mut left = Matrix::new(&x, a_rows, a_columns);
    if cx.flag("transA")? {
        left = left.transposed();
    }
    let is_transposed = cx.flag("transB")?;
    let (depth, columns) = if is_transposed { (b_columns, b_rows) } else { (b_rows, b_columns) };
    if left.columns != depth {
        return Err(Stop::failed(format_args!("rows have {} elements and columns {depth}", left.columns)));
    }
    let zeros = match cx.optional(5)? {
        Some(zeros) => spread(&cx.read_f64(&zeros)?, columns)?,
        None => vec![0.0; columns],
    };
    let column = |at: usize| if is_transposed { at / b_columns.max(1) } else { at % b_columns.max(1) };
    let y: Vec<f64> = y.iter().enumerate().map(|(at, value)| value - zeros[column(at)]).collect();
    let mut right = Matrix::new(&y, b_rows, b_columns);
    if is_transposed {
        right = right.transposed();
    }
    let dims = [left.rows, columns];
    let mut sums = cx.filled(cx.count(&dims)?, 0.0)?;
    work(cx, left.rows, depth, columns)?;
    f64::product(left, right, &mut sums, cx.poll())?;
    add(cx, 6, &dims, &mut sums)?;
    let alpha = float(cx, "alpha")?.unwrap_or(1.0);
    let scales = spread(&cx.read_f64(&b_scale)?, columns)?;
    sums.iter_mut().zip(scales.iter().cycle()).for_each(|(sum, scale)| *sum *= alpha * a_scale * scale);
    let Some(y_scale) = single(cx, 7)? else { return put_real(cx, 0, ElemType::Float, &dims, &sums) };
    let elem = cx.optional(8)?.map_or(a.elem, |zero| zero.elem);
    let zero = single(cx, 8)?.unwrap_or(0.0);
    sums.iter_mut().for_each(|sum| *sum = quantized(elem, *sum / y_scale, zero));
    put_quantized(cx, elem, &dims, &sums)
}

/// Adds an optional operand that broadcasts to the sizes.
fn add(cx: &mut Cx<'_, '_>, index: usize, dims: &[usize], sums: &mut [f64]) -> Outcome {
    let Some(added) = cx.optional(index)? else { return Ok(()) };
    if joined(&[dims, &added.dims])?.as_slice() != dims {
        return Err(Stop::failed("an operand does not broadcast to the product"));
    }
    let values = cx.read_f64(&added)?;
    if product(dims) == 0 {
        return Ok(());
    }
    let steps = [repeated(dims, dims), repeated(&added.dims, dims)];
    for_each_piece(cx.poll(), dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
        for (i, sum) in sums[at..at + length].iter_mut().enumerate() {
            *sum += values[from + i * step];
        }
    })
}
