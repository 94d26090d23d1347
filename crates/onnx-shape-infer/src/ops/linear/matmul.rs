//! `MatMul`, `MatMulInteger`, `QLinearMatMul`: matrix products in stacks that broadcast.
//!
//! A vector on the left is a row, one on the right a column, and its size 1 is dropped again. The inner sizes must be the
//! same; scalars have none. onnxruntime up to version 1.31 does not broadcast stacks whose inner size is 0, and does not
//! compare the sizes then; if results must hold there, a guard states that it is not 0.
//!
//! `QLinearMatMul` must have zero points of the types of its matrices, which give the type of the result.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::facts::Relation;
use crate::fault::{TYPES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::MAT_MUL, &[since(1, |cx| by_inputs(cx, 0, 1))]),
    infer(op::MAT_MUL_INTEGER, &[since(10, |cx| by_inputs(cx, 0, 1))]),
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
    by_inputs(cx, 0, 3)
}

fn by_inputs(cx: &mut Cx<'_, '_>, left: usize, right: usize) -> Outcome {
    // A scalar is a fault even where nothing is known of the other input.
    if cx.rank(right).is_ok() {
        cx.shape_of_min_rank(right, 1)?;
    }
    let left = cx.shape_of_min_rank(left, 1)?;
    let right = cx.shape(right)?;
    let dims = product(cx, left, right)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// The shape of the product of two stacks of matrices, or of vectors. Operators that transpose swap the last two sizes of
/// an operand before.
///
/// # Errors
///
/// With a diagnostic if the inner sizes differ, an operand is a scalar, or the stacks do not broadcast.
pub(crate) fn product(cx: &mut Cx<'_, '_>, mut left: Dims, mut right: Dims) -> Outcome<Dims> {
    let row = (left.len() > 1).then(|| left.remove(left.len().saturating_sub(2)));
    let column = if right.len() > 1 { right.pop() } else { None };
    let (Some(inner), Some(other)) = (left.pop(), right.pop()) else {
        return Err(cx.fail(&WRONG_RANK, "an operand of the product is a scalar"));
    };
    let inner = cx.same(inner, other, "the inner sizes of the matrices")?;
    if left != right && cx.for_onnxruntime() {
        match cx.dims_le(Dim::Known(1), inner) {
            Some(true) => {}
            None if !inner.is_unknown() => {
                let reason = "onnxruntime does not broadcast products without inner elements";
                cx.assume(Relation::AtMost(Dim::Known(1), inner), reason);
            }
            _ => return Err(Stop::Unknown),
        }
    }
    let mut dims = cx.broadcast(&left, &right)?;
    dims.extend(row);
    dims.extend(column);
    Ok(dims)
}
