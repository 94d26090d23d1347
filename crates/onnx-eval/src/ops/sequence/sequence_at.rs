//! `SequenceAt`: the element at a position, which counts from the end if negative.

use onnx_schema::op;

use super::{items, position};
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SEQUENCE_AT, &[since(11, at)]).takes(&[(1, Takes::ZERO)]);

fn at(cx: &mut Cx<'_, '_>) -> Outcome {
    let items = items(cx, 0)?;
    let position = position(cx, 1, items.len())?.ok_or_else(|| Stop::failed("the position is missing"))?;
    let value = items[position].clone();
    cx.put_value(0, value)
}
