//! `Gemm`: `alpha * A * B + beta * C`, where `A` and `B` may be transposed and `C` broadcasts to the product.
//!
//! Before version 7, `C` broadcasts only if `broadcast` is set. Integers wrap; with a factor that is not one, they are
//! computed in 64-bit floats, and the sum is truncated.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::broadcast::{for_each_piece, joined, repeated};
use crate::family::gemm::{Matrix, Product, products, work};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::GEMM, &[since(1, oldest), since(7, gemm)]).open();

fn oldest(cx: &mut Cx<'_, '_>) -> Outcome {
    let broadcasts = cx.flag(attr::BROADCAST)?;
    product_and_sum(cx, broadcasts)
}

/// The kernel of the versions in which `C` broadcasts, and of operators of runtimes that contain it.
pub(crate) fn gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    product_and_sum(cx, true)
}

fn product_and_sum(cx: &mut Cx<'_, '_>, broadcasts: bool) -> Outcome {
    let (a, b, c) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (a.dims.as_slice(), b.dims.as_slice()) else {
        return Err(Stop::failed("the operands are not matrices"));
    };
    let factors = [cx.float_or(attr::ALPHA, 1.0)?, cx.float_or(attr::BETA, 1.0)?].map(f64::from);
    let c = c.filter(|_| factors[1] != 0.0);
    let flip = [cx.flag(attr::TRANS_A)?, cx.flag(attr::TRANS_B)?];
    let turned = |rows, columns, is_turned| if is_turned { [columns, rows] } else { [rows, columns] };
    let ([rows, depth], [other, columns]) =
        (turned(a_rows, a_columns, flip[0]), turned(b_rows, b_columns, flip[1]));
    if depth != other {
        return Err(Stop::failed(format_args!("rows have {depth} elements and columns {other}")));
    }
    let dims = [rows, columns];
    if let Some(c) = &c
        && !broadcasts
        && c.dims.as_slice() != dims
    {
        return Err(Stop::failed("C does not have the sizes of the product, and `broadcast` is not set"));
    }
    if let Some(c) = &c
        && joined(&[&dims, &c.dims])?.as_slice() != dims
    {
        return Err(Stop::failed("C does not broadcast to the product"));
    }
    work(cx, rows, depth, columns)?;
    let settings = Settings { dims, depth, flip, factors, added: c.as_ref().map(|c| c.dims.clone()) };
    if !a.elem.is_float() && factors.iter().any(|factor| factor.fract() != 0.0) {
        let (x, y) = (cx.read_f64(&a)?, cx.read_f64(&b)?);
        let c = c.map(|c| cx.read_f64(&c)).transpose()?;
        let out = computed(cx, &settings, &x, &y, c.as_deref())?;
        return by_number!(a.elem, T => {
            let out = cx.collect(out.iter().map(|&value| T::of_f64(value)))?;
            cx.put::<T>(0, a.elem, &dims, out)
        });
    }
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let c = c.map(|c| cx.read::<T>(&c)).transpose()?;
        let out = computed(cx, &settings, &x, &y, c.as_deref())?;
        cx.put(0, a.elem, &dims, out)
    })
}

struct Settings {
    /// The rows and columns of the result.
    dims: [usize; 2],
    depth: usize,
    /// Whether `A` and `B` are transposed.
    flip: [bool; 2],
    /// `alpha` and `beta`.
    factors: [f64; 2],
    /// The dimensions of `C`.
    added: Option<Dims>,
}

fn computed<T: Product>(
    cx: &mut Cx<'_, '_>,
    settings: &Settings,
    x: &[T],
    y: &[T],
    c: Option<&[T]>,
) -> Outcome<Vec<T>> {
    let &Settings { dims, depth, flip, factors: [alpha, beta], .. } = settings;
    let matrix = |elements, rows, columns, is_turned: bool| {
        if is_turned {
            Matrix::new(elements, columns, rows).transposed()
        } else {
            Matrix::new(elements, rows, columns)
        }
    };
    let (left, right) = (matrix(x, dims[0], depth, flip[0]), matrix(y, depth, dims[1], flip[1]));
    let mut out = cx.filled(cx.count(&dims)?, T::ZERO)?;
    products(cx, &mut vec![(left, right, &mut out)])?;
    // A negative factor of unsigned integers wraps.
    let factor = |factor: f64| if T::IS_FLOAT { T::of_f64(factor) } else { T::of_i64(factor as i64) };
    if alpha != 1.0 {
        let alpha = factor(alpha);
        out.iter_mut().for_each(|value| *value = value.times(alpha));
    }
    if let (Some(added), Some(added_dims)) = (c, &settings.added) {
        let beta = factor(beta);
        let steps = [repeated(&dims, &dims), repeated(added_dims, &dims)];
        for_each_piece(cx.poll(), &dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
            for (i, value) in out[at..at + length].iter_mut().enumerate() {
                *value = value.plus(added[from + i * step].times(beta));
            }
        })?;
    }
    Ok(out)
}
