//! `Det`: the determinant of square matrices, by elimination with the greatest element of each column as pivot, in `double`.

use onnx_schema::op;

use crate::cx::axes::product;
use crate::cx::{Cx, Outcome, Stop};
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::DET, &[since(11, det)]).open();

fn det(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let [batch @ .., rows, columns] = &x.dims[..] else {
        return Err(Stop::failed("the input is not a matrix"));
    };
    if rows != columns {
        return Err(Stop::failed("the matrices are not square"));
    }
    let size = *rows;
    cx.work(x.count.saturating_mul(size))?;
    let elements = cx.read_f64(&x)?;
    let mut out = cx.buffer(product(batch))?;
    let block = size * size;
    for at in 0..product(batch) {
        out.push(determinant(&mut elements[at * block..(at + 1) * block].to_vec(), size, cx.poll())?);
    }
    by_float!(x.elem, T => {
        let out = out.iter().map(|&value| T::of_f64(value)).collect();
        cx.put::<T>(0, x.elem, batch, out)
    })
}

fn determinant(matrix: &mut [f64], size: usize, poll: &mut InterruptPoll) -> Outcome<f64> {
    let mut product = 1.0;
    for at in 0..size {
        let magnitude = |row: usize, matrix: &[f64]| matrix[row * size + at].abs();
        let mut pivot = at;
        for row in at + 1..size {
            if magnitude(row, matrix) > magnitude(pivot, matrix) {
                pivot = row;
            }
        }
        if pivot != at {
            (0..size).for_each(|column| matrix.swap(at * size + column, pivot * size + column));
            product = -product;
        }
        let head = matrix[at * size + at];
        product *= head;
        if head == 0.0 {
            return Ok(0.0);
        }
        for row in at + 1..size {
            poll.step(size - at)?;
            let factor = matrix[row * size + at] / head;
            for column in at..size {
                matrix[row * size + column] -= factor * matrix[at * size + column];
            }
        }
    }
    Ok(product)
}
