//! `Gemm`: the product of two matrices, each turned or not, plus a third that broadcasts to it.
//!
//! The inner sizes must be the same; the reference compares them only from version 13 on, and does not check the third
//! input, which must broadcast to the product. If one matrix is unknown, the size that comes from the other one is still known.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::GEMM, &[since(1, |cx| gemm(cx, false)), since(7, |cx| gemm(cx, true))]);

fn gemm(cx: &mut Cx<'_, '_>, always: bool) -> Outcome {
    let turns_left = cx.int_or(attr::TRANS_A, 0)? != 0;
    let turns_right = cx.int_or(attr::TRANS_B, 0)? != 0;
    let (rows, left) = matrix(cx, 0, turns_left)?;
    let (right, columns) = matrix(cx, 1, turns_right)?;
    cx.same(left, right, "the inner sizes of the matrices")?;
    added(cx, &[rows, columns], always)?;
    cx.set_shape(0, [rows, columns]);
    Ok(())
}

/// The third input broadcasts to the product, until version 6 only if an attribute says so.
fn added(cx: &mut Cx<'_, '_>, product: &[Dim], always: bool) -> Outcome {
    let Ok(dims) = cx.shape(2) else { return Ok(()) };
    // With a factor of 0, the input is not read.
    if cx.float(attr::BETA)? == Some(0.0) {
        return Ok(());
    }
    if always || cx.flag(attr::BROADCAST)? {
        return cx.broadcasts_to(&dims, product, "C");
    }
    if dims.len() != product.len() {
        let rank = dims.len();
        let message = format_args!("C has rank {rank} where 2 is needed, as `broadcast` is not set");
        return Err(cx.fail(&WRONG_RANK, message));
    }
    for (&size, &of) in dims.iter().zip(product) {
        cx.same(of, size, "the sizes of the product and of C")?;
    }
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
