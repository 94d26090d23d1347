//! `SequenceErase`: a sequence without the element at a position, the last one by default.

use std::sync::Arc;

use onnx_schema::op;

use super::{items, position};
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::SEQUENCE_ERASE, &[since(11, erase)]).takes(&[(1, Takes::ZERO)]);

fn erase(cx: &mut Cx<'_, '_>) -> Outcome {
    let items = items(cx, 0)?;
    let mut items = cx.copied(&items)?;
    let last = items.len().checked_sub(1);
    let position = position(cx, 1, items.len())?.or(last);
    items.remove(position.ok_or_else(|| Stop::failed("the sequence is empty"))?);
    cx.put_value(0, Value::Sequence(Arc::new(items)))
}
