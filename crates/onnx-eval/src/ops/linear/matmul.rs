//! `MatMul`: products of matrices, whose other axes broadcast. A vector is a row on the left and a column on the right.
//!
//! Floats narrower than 32 bits are accumulated in 32 bits. Integers wrap.

use onnx_schema::op;

use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::broadcast::{for_each_row, joined, repeated};
use crate::family::gemm::{Matrix, Product, work};
use crate::number::by_number;
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[eval(op::MAT_MUL, &[since(1, matmul)])];

fn matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let (dims, out) = multiply::<T>(cx, (&x, &a.dims), (&y, &b.dims))?;
        cx.put(0, a.elem, &dims, out)
    })
}

/// The sizes and elements of a product.
pub(in crate::ops) fn multiply<T: Product>(
    cx: &mut Cx<'_, '_>,
    (a, a_dims): (&[T], &[usize]),
    (b, b_dims): (&[T], &[usize]),
) -> Outcome<(Dims, Vec<T>)> {
    let too_small = || Stop::failed("a scalar is not a matrix");
    let left: Dims = if a_dims.len() == 1 { [1, a_dims[0]].as_slice().into() } else { a_dims.into() };
    let right: Dims = if b_dims.len() == 1 { [b_dims[0], 1].as_slice().into() } else { b_dims.into() };
    let (Some((&[rows, depth], a_batch)), Some((&[other, columns], b_batch))) = (
        left.split_last_chunk().map(|(batch, last)| (last, batch)),
        right.split_last_chunk().map(|(batch, last)| (last, batch)),
    ) else {
        return Err(too_small());
    };
    if depth != other {
        return Err(Stop::failed(format_args!("rows have {depth} elements and columns {other}")));
    }
    let batch = joined(&[a_batch, b_batch])?;
    let mut dims = batch.clone();
    if a_dims.len() > 1 {
        dims.push(rows);
    }
    if b_dims.len() > 1 {
        dims.push(columns);
    }
    let mut out = cx.filled(cx.count(&dims)?, T::ZERO)?;
    work(cx, product(&batch).saturating_mul(rows), depth, columns)?;
    if out.is_empty() {
        return Ok((dims, out));
    }
    // One product suffices if the right operand is one matrix.
    if product(b_batch) == 1 && b_dims.len() >= 2 {
        let rows = product(&batch).saturating_mul(rows);
        T::product(Matrix::new(a, rows, depth), Matrix::new(b, depth, columns), &mut out)?;
        return Ok((dims, out));
    }
    let steps = [a_batch, b_batch].map(|own| repeated(own, &batch));
    let mut results = out.chunks_exact_mut(rows * columns);
    let mut outcome = Ok(());
    for_each_row(&batch, [&steps[0], &steps[1]], |[x, y], [dx, dy], length| {
        for i in 0..length {
            let a = a.get((x + i * dx) * rows * depth..).unwrap_or_default();
            let b = b.get((y + i * dy) * depth * columns..).unwrap_or_default();
            let (Some(a), Some(b)) = (a.get(..rows * depth), b.get(..depth * columns)) else { return };
            let Some(result) = results.next() else { return };
            if outcome.is_ok() {
                outcome = T::product(Matrix::new(a, rows, depth), Matrix::new(b, depth, columns), result);
            }
        }
    });
    outcome.map(|()| (dims, out))
}
