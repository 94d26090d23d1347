//! `MatMul`, `MatMulInteger`, `QLinearMatMul`: matrix products in stacks that broadcast.
//!
//! A vector on the left is a row, one on the right a column, and its size 1 is dropped again. The inner sizes must be the
//! same; scalars have none. `QLinearMatMul` must have zero points of the types of its matrices, which give the type of the
//! result.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::fault::TYPES_DIFFER;
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::MAT_MUL, &[since(1, |cx| product(cx, 0, 1))]),
    infer(op::MAT_MUL_INTEGER, &[since(10, |cx| product(cx, 0, 1))]),
    infer(op::Q_LINEAR_MAT_MUL, &[since(10, quantized)]),
];

fn quantized(cx: &mut Cx<'_, '_>) -> Outcome {
    for (matrix, zero_point) in [(0, 2), (3, 5)] {
        if let (Ok(matrix_elem), Ok(elem)) = (cx.elem(matrix), cx.elem(zero_point))
            && matrix_elem != elem
        {
            return Err(cx.fail(
                &TYPES_DIFFER,
                format_args!("input {zero_point}, a zero point, is of another type than input {matrix}"),
            ));
        }
    }
    product(cx, 0, 3)
}

fn product(cx: &mut Cx<'_, '_>, left: usize, right: usize) -> Outcome {
    // A scalar is a fault even where nothing is known of the other input.
    if cx.rank(right).is_ok() {
        cx.shape_of_min_rank(right, 1)?;
    }
    let mut left = cx.shape_of_min_rank(left, 1)?;
    let mut right = cx.shape(right)?;
    let row = (left.len() > 1).then(|| left.remove(left.len().saturating_sub(2)));
    let column = if right.len() > 1 { right.pop() } else { None };
    if let (Some(inner), Some(other)) = (left.pop(), right.pop()) {
        cx.same(inner, other, "the inner sizes of the matrices")?;
    }
    let mut dims = cx.broadcast(&left, &right)?;
    dims.extend(row);
    dims.extend(column);
    cx.set_dims(0, dims);
    Ok(())
}
