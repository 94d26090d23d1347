//! `SplitToSequence`: a tensor cut along an axis into a sequence: into slices of one element by default, into parts of one size
//! (of which the last may be smaller) if `split` is a scalar, into parts of the given sizes if it is a list.
//!
//! `keepdims` matters only without `split`.

use std::sync::Arc;

use onnx_schema::{attr, op};

use crate::budget::RECORD_BYTES;
use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::ops::tensor::split::piece;
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::SPLIT_TO_SEQUENCE, &[since(11, split)]);

fn split(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let length = x.dims[axis];
    let given = cx.optional(1)?;
    let keeps = given.is_some() || cx.int_or(attr::KEEPDIMS, 1)? != 0;
    // A list of sizes is a tensor that exists; these lists are made.
    cx.budget.allocate(length, size_of::<(usize, Value)>() + RECORD_BYTES as usize)?;
    let parts: Vec<usize> = match given {
        None => vec![1; length],
        Some(split) if split.dims.is_empty() => {
            let part = axes::size(cx.scalar_int(1)?)?;
            if part == 0 {
                return Err(Stop::failed("the parts have no elements"));
            }
            (0..length.div_ceil(part)).map(|at| part.min(length - at * part)).collect()
        }
        Some(_) => axes::sizes(&cx.list(1)?)?.to_vec(),
    };
    if parts.iter().try_fold(0_usize, |sum, &part| sum.checked_add(part)) != Some(length) {
        return Err(Stop::failed(format_args!("the parts do not add up to {length}")));
    }
    let (mut items, mut start) = (Vec::with_capacity(parts.len()), 0);
    for part in parts {
        let mut item = piece(cx, &x, axis, start, part)?;
        if let (false, Value::Tensor(tensor)) = (keeps, &item) {
            let mut dims: Dims = x.dims.clone();
            dims.remove(axis);
            item = cx.tensor_of(x.elem, &dims, tensor.payload().clone())?.into();
        }
        items.push(item);
        start += part;
    }
    cx.put_value(0, Value::Sequence(Arc::new(items)))
}
