//! `SequenceInsert`: a sequence with a tensor before a position, or at the end by default. The position may be the length.

use std::sync::Arc;

use onnx_schema::op;

use super::items;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::SEQUENCE_INSERT, &[since(11, insert)]).takes(&[(2, Takes::ZERO)]);

fn insert(cx: &mut Cx<'_, '_>) -> Outcome {
    let tensor = cx.tensor(1)?;
    let items = items(cx, 0)?;
    let mut items = cx.copied(&items)?;
    let is_other = |value: &Value| value.tensor().is_none_or(|other| other.elem() != tensor.elem);
    if items.first().is_some_and(is_other) {
        return Err(Stop::failed("the tensor has another type than the elements of the sequence"));
    }
    let count = items.len() as i64;
    let given = if cx.has_input(2) { cx.scalar_int(2)? } else { count };
    let position = if given < 0 { given.saturating_add(count) } else { given };
    if !(0..=count).contains(&position) {
        return Err(Stop::failed(format_args!("position {given} is outside the sequence")));
    }
    items.insert(position as usize, Value::Tensor(tensor.tensor));
    cx.put_value(0, Value::Sequence(Arc::new(items)))
}
