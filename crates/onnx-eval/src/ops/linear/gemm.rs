//! `Gemm`: `alpha * A * B + beta * C`, where `A` and `B` may be transposed and `C` broadcasts to the product.
//!
//! Before version 7, `C` broadcasts only if `broadcast` is set. Factors of integers are truncated.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::family::broadcast::{for_each_row, joined, repeated};
use crate::family::gemm::{Matrix, Product, work};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::GEMM, &[since(1, gemm)]);

pub(crate) fn gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b, c) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (a.dims.as_slice(), b.dims.as_slice()) else {
        return Err(Stop::failed("the operands are not matrices"));
    };
    let (alpha, beta) = (cx.float_or(attr::ALPHA, 1.0)?, cx.float_or(attr::BETA, 1.0)?);
    let (trans_a, trans_b) = (cx.flag(attr::TRANS_A)?, cx.flag(attr::TRANS_B)?);
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let (mut left, mut right) = (Matrix::new(&x, a_rows, a_columns), Matrix::new(&y, b_rows, b_columns));
        if trans_a {
            left = left.transposed();
        }
        if trans_b {
            right = right.transposed();
        }
        let dims = [left.rows, right.columns];
        if left.columns != right.rows {
            let (depth, other) = (left.columns, right.rows);
            return Err(Stop::failed(format_args!("rows have {depth} elements and columns {other}")));
        }
        work(cx, left.rows, left.columns, right.columns)?;
        let mut out = cx.filled(cx.count(&dims)?, T::ZERO)?;
        T::product(left, right, &mut out)?;
        if alpha != 1.0 {
            let alpha = T::of_f64(f64::from(alpha));
            out.iter_mut().for_each(|value| *value = value.times(alpha));
        }
        if let Some(c) = c.filter(|_| beta != 0.0) {
            let added = cx.read::<T>(&c)?;
            if joined(&[&dims, &c.dims])?.as_slice() != dims {
                return Err(Stop::failed("C does not broadcast to the product"));
            }
            let beta = T::of_f64(f64::from(beta));
            let steps = [repeated(&dims, &dims), repeated(&c.dims, &dims)];
            for_each_row(&dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
                for (i, value) in out[at..at + length].iter_mut().enumerate() {
                    *value = value.plus(added[from + i * step].times(beta));
                }
            });
        }
        cx.put(0, a.elem, &dims, out)
    })
}
