//! `Gemm`: the product of two matrices, each turned or not, plus a third that broadcasts to it.
//!
//! The inner sizes must be the same; the reference compares them only from version 13 on. Neither checks the third
//! input. If one matrix is unknown, the size that comes from the other one is still known.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::GEMM, &[since(1, gemm)]);

fn gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    let turns_left = cx.int_or(attr::TRANS_A, 0)? != 0;
    let turns_right = cx.int_or(attr::TRANS_B, 0)? != 0;
    let (rows, left) = matrix(cx, 0, turns_left)?;
    let (right, columns) = matrix(cx, 1, turns_right)?;
    cx.same(left, right, "the inner sizes of the matrices")?;
    cx.set_shape(0, [rows, columns]);
    Ok(())
}

/// The sizes of an input that is a matrix, turned if need be.
fn matrix(cx: &mut Cx<'_, '_>, index: usize, turned: bool) -> Outcome<(Dim, Dim)> {
    match cx.shape_of_rank(index, 2) {
        Ok(dims) => match *dims {
            [rows, columns] if turned => Ok((columns, rows)),
            [rows, columns] => Ok((rows, columns)),
            _ => Err(Stop::Unknown),
        },
        Err(Stop::Unknown) => Ok((Dim::Unknown, Dim::Unknown)),
        Err(Stop::Failed) => Err(Stop::Failed),
    }
}
