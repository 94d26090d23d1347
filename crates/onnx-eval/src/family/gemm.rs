//! Products of matrices, the one place where sums of products are accumulated.
//!
//! `f32` and `f64` use the kernel of `matrixmultiply`, through the checked views of `ndarray`. Threads compute parts of the rows
//! or columns, never of a sum, so the order of a sum depends on the number of its elements only. Integers are summed in order,
//! and wrap.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, LinalgScalar, ShapeBuilder};

use crate::cx::{Cx, Outcome, Stop};
use crate::interrupt_poll::InterruptPoll;
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
    fn product(
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        out: &mut [Self],
        poll: &mut InterruptPoll,
    ) -> Outcome {
        Self::product_into(a, b, out, b.columns, Threads::ONE, poll)
    }

    /// The rows of `out` that are `step` apart become those of `a · b`; what is between them stays.
    fn product_into(
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        out: &mut [Self],
        step: usize,
        threads: Threads,
        poll: &mut InterruptPoll,
    ) -> Outcome;
}

/// The operands and the result of a product.
pub(crate) type Job<'a, T> = (Matrix<'a, T>, Matrix<'a, T>, &'a mut [T]);

/// Computes products of equal sizes, whose work is counted: each by one thread if there are enough of them. They are removed.
pub(crate) fn products<T: Product>(cx: &mut Cx<'_, '_>, jobs: &mut Vec<Job<'_, T>>) -> Outcome {
    let Some((a, b, _)) = jobs.first() else { return Ok(()) };
    let steps = a.rows.saturating_mul(a.columns).saturating_mul(b.columns);
    let threads = cx.threads_for(steps.saturating_mul(jobs.len()));
    if jobs.len() < threads.count() {
        let threads = cx.threads_for(steps);
        let poll = cx.poll();
        return jobs
            .drain(..)
            .try_for_each(|(a, b, out)| T::product_into(a, b, out, b.columns, threads, poll));
    }
    // A part may be too short to check the interrupt itself.
    cx.poll().step(steps.saturating_mul(jobs.len()))?;
    let poll = cx.poll().clone();
    let outcome = threads.for_each_part(jobs, 1, |_, jobs| {
        let mut poll = poll.clone();
        jobs.iter_mut().try_for_each(|(a, b, out)| T::product(*a, *b, out, &mut poll))
    });
    jobs.clear();
    outcome
}

/// The least number of rows or columns that a thread computes, a multiple of those of the kernels.
const PART: usize = 16;

/// The number of multiplications between two checks of the interrupt: some milliseconds. In smaller blocks, packing the operands
/// for the kernels takes a notable part of the time.
const BLOCK: usize = 1 << 26;

/// The rows and columns of a block of a product: about as many of each, so that little is packed twice.
fn block(rows: usize, depth: usize, columns: usize) -> [usize; 2] {
    let area = (BLOCK / depth.max(1)).max(1);
    if rows.saturating_mul(columns) <= area {
        return [rows, columns];
    }
    let even = |size: usize| if size < PART { size.max(1) } else { size - size % PART };
    let height = even(area.isqrt()).min(rows);
    let width = even(area / height).min(columns);
    [even(area / width).min(rows), width]
}

/// `out` becomes `left · right`, block by block. No sum is divided, so its order does not depend on the blocks.
fn by_blocks<T: LinalgScalar>(
    left: &ArrayView2<'_, T>,
    right: &ArrayView2<'_, T>,
    mut out: ArrayViewMut2<'_, T>,
    [height, width]: [usize; 2],
    poll: &mut InterruptPoll,
) -> Outcome {
    let rows = left.axis_chunks_iter(Axis(0), height).zip(out.axis_chunks_iter_mut(Axis(0), height));
    for (left, mut out) in rows {
        let columns = right.axis_chunks_iter(Axis(1), width).zip(out.axis_chunks_iter_mut(Axis(1), width));
        for (right, mut out) in columns {
            poll.step(left.len().saturating_mul(right.ncols()))?;
            general_mat_mul(T::one(), &left, &right, T::zero(), &mut out);
        }
    }
    Ok(())
}

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
                poll: &mut InterruptPoll,
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
                    return by_blocks(&left, &right, product, block(a.rows, a.columns, b.columns), poll);
                }
                poll.step(a.rows.saturating_mul(a.columns).saturating_mul(b.columns))?;
                let poll = &*poll;
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
                threads::for_each(parts, |(left, right, result)| {
                    { let size = block(left.nrows(), left.ncols(), right.ncols()); by_blocks(&left, &right, result, size, &mut poll.clone()) }
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
                poll: &mut InterruptPoll,
            ) -> Outcome {
                for row in 0..a.rows {
                    for column in 0..b.columns {
                        poll.step(a.columns)?;
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

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use onnx_types::Interrupt;

    use super::*;

    #[test]
    fn blocks_do_not_change_bits() {
        for [rows, depth, columns] in [[33, 700, 65], [1, 300, 90], [130, 17, 1], [70, 1, 50]] {
            let number = |(row, column)| ((row * 31 + column * 17 + 5) % 101) as f32 / 7.0 - 6.3;
            let left = Array2::from_shape_fn([rows, depth], number);
            let right = Array2::from_shape_fn([depth, columns], number);
            let product = |size: [usize; 2]| {
                let mut out = Array2::<f32>::zeros([rows, columns]);
                let mut poll = InterruptPoll::new(Interrupt::NEVER);
                by_blocks(&left.view(), &right.view(), out.view_mut(), size, &mut poll).unwrap();
                out.mapv(f32::to_bits)
            };
            let whole = product([rows, columns]);
            for size in [[1, 1], [16, 16], [48, 32], [5, 7], [rows, 16], [16, columns]] {
                assert!(product(size) == whole, "{rows}×{depth}×{columns} in blocks of {size:?}");
            }
        }
    }

    #[test]
    fn blocks_are_bounded() {
        for [rows, depth, columns] in [
            [4096, 4096, 4096],
            [1, 1 << 20, 1 << 20],
            [1 << 20, 1 << 20, 1],
            [3, usize::MAX, 5],
            [1 << 15, 1, 1 << 15],
            [2000, 300, 17],
        ] {
            let [height, width] = block(rows, depth, columns);
            assert!((1..=rows).contains(&height) && (1..=columns).contains(&width));
            let area = (height * width) as u128;
            assert!(area == 1 || area * depth as u128 <= BLOCK as u128, "{height}×{depth}×{width}");
        }
        assert_eq!(block(4096, 4096, 4096), [128, 128]);
        assert_eq!(block(384, 768, 64), [384, 64]);
    }
}
