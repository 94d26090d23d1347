//! Products of matrices, the one place where sums of products are accumulated.
//!
//! `f32` and `f64` use the kernel of `matrixmultiply`, through the checked views of `ndarray`. Threads compute parts of the rows
//! or columns, never of a sum, so the order of a sum depends on the number of its elements only. Integers are summed in order,
//! and wrap.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::Number;
use crate::threads::{self, Threads};

/// A matrix in a slice: rows, columns, and the distances between neighbors in a column and in a row.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) elements: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_step: usize,
    pub(crate) column_step: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix in row-major order.
    pub(crate) const fn new(elements: &'a [T], rows: usize, columns: usize) -> Self {
        Self { elements, rows, columns, row_step: columns, column_step: 1 }
    }

    /// The transposed matrix.
    pub(crate) const fn transposed(self) -> Self {
        Self {
            elements: self.elements,
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
        }
    }
}

/// A type whose matrices can be multiplied.
pub(crate) trait Product: Number {
    /// `out` (`rows × columns`, row-major) becomes `a · b`.
    fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, out: &mut [Self]) -> Outcome {
        Self::product_into(a, b, out, b.columns, Threads::ONE)
    }

    /// The rows of `out` that are `step` apart become those of `a · b`; what is between them stays.
    fn product_into(
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        out: &mut [Self],
        step: usize,
        threads: Threads,
    ) -> Outcome;
}

/// The operands and the result of a product.
pub(crate) type Job<'a, T> = (Matrix<'a, T>, Matrix<'a, T>, &'a mut [T]);

/// Computes products of equal sizes, whose work is counted: each by one thread if there are enough of them. They are removed.
pub(crate) fn products<T: Product>(cx: &Cx<'_, '_>, jobs: &mut Vec<Job<'_, T>>) -> Outcome {
    let Some((a, b, _)) = jobs.first() else { return Ok(()) };
    let steps = a.rows.saturating_mul(a.columns).saturating_mul(b.columns);
    let threads = cx.threads_for(steps.saturating_mul(jobs.len()));
    if jobs.len() < threads.count() {
        let threads = cx.threads_for(steps);
        return jobs.drain(..).try_for_each(|(a, b, out)| T::product_into(a, b, out, b.columns, threads));
    }
    let outcome = threads.for_each_part(jobs, 1, |_, jobs| {
        jobs.iter_mut().try_for_each(|(a, b, out)| T::product(*a, *b, out))
    });
    jobs.clear();
    outcome
}

/// The least number of rows or columns that a thread computes, a multiple of those of the kernels.
const PART: usize = 16;

/// Counts the work of a product.
pub(crate) fn work(cx: &mut Cx<'_, '_>, rows: usize, depth: usize, columns: usize) -> Outcome {
    cx.work(rows.saturating_mul(depth).saturating_mul(columns))
}

fn outside() -> Stop {
    Stop::failed("the operands are smaller than their sizes")
}

macro_rules! by_ndarray {
    ($($type:ty),*) => {$(
        impl Product for $type {
            fn product_into(
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                out: &mut [Self],
                step: usize,
                threads: Threads,
            ) -> Outcome {
                if a.rows == 0 || b.columns == 0 {
                    return Ok(());
                }
                if a.columns == 0 {
                    out.chunks_mut(step).for_each(|row| row.iter_mut().take(b.columns).for_each(|x| *x = 0.0));
                    return Ok(());
                }
                let view = |matrix: Matrix<'_, Self>| (matrix.rows, matrix.columns)
                    .strides((matrix.row_step, matrix.column_step));
                let left = ArrayView2::from_shape(view(a), a.elements).map_err(|_| outside())?;
                let right = ArrayView2::from_shape(view(b), b.elements).map_err(|_| outside())?;
                let shape = (a.rows, b.columns).strides((step, 1));
                let mut product = ArrayViewMut2::from_shape(shape, out).map_err(|_| outside())?;
                if threads.count() == 1 {
                    general_mat_mul(1.0, &left, &right, 0.0, &mut product);
                    return Ok(());
                }
                let parts: Vec<_> = if b.columns >= a.rows {
                    let size = threads.part(b.columns, PART);
                    let columns = right.axis_chunks_iter(Axis(1), size);
                    let results = product.axis_chunks_iter_mut(Axis(1), size);
                    columns.zip(results).map(|(right, result)| (left, right, result)).collect()
                } else {
                    let size = threads.part(a.rows, PART);
                    let rows = left.axis_chunks_iter(Axis(0), size);
                    let results = product.axis_chunks_iter_mut(Axis(0), size);
                    rows.zip(results).map(|(left, result)| (left, right, result)).collect()
                };
                threads::for_each(parts, |(left, right, mut result)| {
                    general_mat_mul(1.0, &left, &right, 0.0, &mut result);
                    Ok(())
                })
            }
        }
    )*};
}

by_ndarray!(f32, f64);

macro_rules! in_order {
    ($($type:ty),*) => {$(
        impl Product for $type {
            fn product_into(
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                out: &mut [Self],
                step: usize,
                _: Threads,
            ) -> Outcome {
                for row in 0..a.rows {
                    for column in 0..b.columns {
                        let mut sum = 0 as Self;
                        for k in 0..a.columns {
                            let x = a.elements.get(row * a.row_step + k * a.column_step);
                            let y = b.elements.get(k * b.row_step + column * b.column_step);
                            let (Some(x), Some(y)) = (x, y) else { return Err(outside()) };
                            sum = sum.plus(x.times(*y));
                        }
                        *out.get_mut(row * step + column).ok_or_else(outside)? = sum;
                    }
                }
                Ok(())
            }
        }
    )*};
}

in_order!(i64, u64);
