//! `MaxUnpool`: the inverse of `MaxPool`, up to what the pool has lost.
//!
//! The sizes are those of a transposed pool, or the elements of the input `output_shape`, of which the reference takes the
//! number only. A negative size is a fault; the reference gives it.

use onnx_schema::op;
use smallvec::SmallVec;

use super::pool::operands;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::{Windows, not_negative};
use crate::fault::{BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules = infer(op::MAX_UNPOOL, &[since(9, unpool)]);

fn unpool(cx: &mut Cx<'_, '_>) -> Outcome {
    let (mut input, kernel) = operands(cx)?;
    if let Ok(indices) = cx.shape(1) {
        if indices.len() != input.len() {
            let (rank, other) = (input.len(), indices.len());
            let message = format_args!("the input has rank {rank} and the indices have rank {other}");
            return Err(cx.fail(&WRONG_RANK, message));
        }
        for (size, &other) in input.iter_mut().zip(&indices) {
            *size = cx.same(*size, other, "a size of the input and of the indices")?;
        }
    }
    let windows = Windows::read(cx, &kernel, false)?;
    if cx.has_input(2) {
        return given(cx, input.len());
    }
    let none: SmallVec<[i64; 6]> = SmallVec::from_elem(0, kernel.len());
    let spatial = windows.transpose(cx, input.get(2..).ok_or(Stop::Unknown)?, &none)?;
    cx.set_shape(0, [at(&input, 0), at(&input, 1)].into_iter().chain(spatial));
    Ok(())
}

/// The result has the shape that the third input says.
fn given(cx: &mut Cx<'_, '_>, rank: usize) -> Outcome {
    let sizes = cx.elements(2)?.ok_or(Stop::Unknown)?;
    let found = sizes.len();
    if found != rank {
        let message = format_args!("`output_shape` has {found} sizes for an input of rank {rank}");
        return Err(cx.fail(&BAD_VALUE, message));
    }
    let dims: Dims = sizes.iter().map(|&size| not_negative(cx, size)).collect::<Outcome<_>>()?;
    cx.set_dims(0, dims);
    Ok(())
}
