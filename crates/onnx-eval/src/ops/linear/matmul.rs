//! `MatMul`, `MatMulInteger`, `QLinearMatMul`: products of matrices, whose other axes broadcast. A vector is a row on the left and a column on the right.
//!
//! Floats narrower than 32 bits are accumulated in 32 bits. Integers wrap.
//! Products of quantized integers are summed exactly; zero points and scales are one number, one for each row of the left
//! operand, or one for each column of the right one.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::axes::product;
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::broadcast::{for_each_row, joined, repeated};
use crate::family::gemm::{Matrix, Product, products, work};
use crate::number::by_number;
use crate::ops::quant::linear::{put_quantized, quantized};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::MAT_MUL, &[since(1, matmul)]).open(),
    eval(op::MAT_MUL_INTEGER, &[since(10, matmul_integer)]),
    eval(op::Q_LINEAR_MAT_MUL, &[since(10, quantized_matmul)]),
];

/// Number of products that are computed at one time.
const JOBS: usize = 256;

fn matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let (dims, out) = multiply::<T>(cx, (&x, &a.dims), (&y, &b.dims))?;
        cx.put(0, a.elem, &dims, out)
    })
}

/// The sizes and elements of a product.
pub(crate) fn multiply<T: Product>(
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
        return Err(Stop::failed(format_args!(
            "rows of {a_dims:?} have {depth} elements, columns of {b_dims:?} have {other}"
        )));
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
        products(cx, &mut vec![(Matrix::new(a, rows, depth), Matrix::new(b, depth, columns), &mut out)])?;
        return Ok((dims, out));
    }
    let steps = [a_batch, b_batch].map(|own| repeated(own, &batch));
    let mut results = out.chunks_exact_mut(rows * columns);
    let (mut jobs, mut outcome) = (Vec::new(), Ok(()));
    for_each_row(&batch, [&steps[0], &steps[1]], |[x, y], [dx, dy], length| {
        for i in 0..length {
            let a = a.get((x + i * dx) * rows * depth..).unwrap_or_default();
            let b = b.get((y + i * dy) * depth * columns..).unwrap_or_default();
            let (Some(a), Some(b)) = (a.get(..rows * depth), b.get(..depth * columns)) else { return };
            let Some(result) = results.next() else { return };
            jobs.push((Matrix::new(a, rows, depth), Matrix::new(b, depth, columns), result));
            if jobs.len() == JOBS && outcome.is_ok() {
                outcome = products(cx, &mut jobs);
            }
        }
    });
    outcome?;
    products(cx, &mut jobs)?;
    Ok((dims, out))
}

/// `a - zero point` of the rows (axis -2) or columns (axis -1), which are one number, or one for each of them.
fn shifted(cx: &mut Cx<'_, '_>, x: &Operand, zero: Option<&Operand>, is_row: bool) -> Outcome<Vec<f64>> {
    let mut elements = cx.read_f64(x)?.into_vec();
    let Some(zero) = zero else { return Ok(elements) };
    let zeros = cx.read_f64(zero)?;
    let by = Places::of(x, zero, is_row)?;
    elements.iter_mut().enumerate().for_each(|(at, element)| *element -= zeros[by.index(at)]);
    Ok(elements)
}

/// Which scale or zero point belongs to which element of a matrix.
enum Places {
    One,
    Row(usize, usize),
    Column(usize),
    /// One for each row of each matrix.
    Rows(usize),
    /// One for each column of each matrix: columns, elements of a matrix.
    Columns(usize, usize),
}

impl Places {
    fn of(x: &Operand, scale: &Operand, is_row: bool) -> Outcome<Self> {
        let &[.., rows, columns] = x.dims.as_slice() else {
            return if scale.count == 1 {
                Ok(Self::One)
            } else {
                Err(Stop::failed("a vector has one scale"))
            };
        };
        let (along, all) =
            if is_row { (rows, x.count / columns.max(1)) } else { (columns, x.count / rows.max(1)) };
        Ok(match (scale.count, is_row) {
            (1, _) => Self::One,
            (count, true) if count == along => Self::Row(columns, rows),
            (count, false) if count == along => Self::Column(columns),
            (count, true) if count == all => Self::Rows(columns),
            (count, false) if count == all => Self::Columns(columns, rows * columns),
            _ => return Err(Stop::failed("the scales or zero points do not fit the matrix")),
        })
    }

    const fn index(&self, at: usize) -> usize {
        match *self {
            Self::One => 0,
            Self::Row(columns, rows) => at / columns % rows,
            Self::Column(columns) => at % columns,
            Self::Rows(columns) => at / columns,
            Self::Columns(columns, matrix) => at / matrix * columns + at % columns,
        }
    }
}

fn matmul_integer(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (a_zero, b_zero) = (cx.optional(2)?, cx.optional(3)?);
    // Sums of products of 8-bit integers are exact in `double`.
    let x = shifted(cx, &a, a_zero.as_ref(), true)?;
    let y = shifted(cx, &b, b_zero.as_ref(), false)?;
    let (dims, out) = multiply::<f64>(cx, (&x, &a.dims), (&y, &b.dims))?;
    let out = cx.collect(out.iter().map(|&value| value as i64))?;
    cx.put::<i64>(0, ElemType::Int32, &dims, out)
}

/// The sizes of a product with the axes that vectors among the operands, of these ranks, leave out.
fn with_vector_axes(dims: &Dims, ranks: [usize; 2]) -> Dims {
    let mut all = dims.clone();
    if ranks[1] == 1 {
        all.push(1);
    }
    if ranks[0] == 1 {
        all.insert(all.len().saturating_sub(1), 1);
    }
    all
}

fn quantized_matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b, y_zero) = (cx.tensor(0)?, cx.tensor(3)?, cx.tensor(7)?);
    let (a_scale, b_scale, y_scale) = (cx.tensor(1)?, cx.tensor(4)?, cx.tensor(6)?);
    let x = shifted(cx, &a, Some(&cx.tensor(2)?), true)?;
    let y = shifted(cx, &b, Some(&cx.tensor(5)?), false)?;
    let (dims, out) = multiply::<f64>(cx, (&x, &a.dims), (&y, &b.dims))?;
    let matrix = with_vector_axes(&dims, [a.dims.len(), b.dims.len()]);
    let result = Operand { tensor: a.tensor.clone(), elem: y_zero.elem, count: out.len(), dims: matrix };
    let by = [Places::of(&result, &a_scale, true)?, Places::of(&result, &b_scale, false)?];
    let to = [Places::of(&result, &y_scale, true)?, Places::of(&result, &y_zero, true)?];
    let scales = [cx.read_f64(&a_scale)?, cx.read_f64(&b_scale)?, cx.read_f64(&y_scale)?];
    let zeros = cx.read_f64(&y_zero)?;
    let out = out.iter().enumerate().map(|(at, &sum)| {
        let factor = scales[0][by[0].index(at)] * scales[1][by[1].index(at)] / scales[2][to[0].index(at)];
        quantized(y_zero.elem, sum * factor, zeros[to[1].index(at)])
    });
    let out = cx.collect(out)?;
    put_quantized(cx, y_zero.elem, &dims, &out)
}
