//! `ConcatFromSequence`: the elements of a sequence one after the other along an axis, or along a new one.

use onnx_schema::{attr, op};

use super::items;
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::ops::tensor::concat::joined;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CONCAT_FROM_SEQUENCE, &[since(11, concat)]);

fn concat(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_new = cx.flag(attr::NEW_AXIS)?;
    let axis = cx.int(attr::AXIS)?.ok_or_else(|| Stop::failed("attribute `axis` is missing"))?;
    let mut operands = Vec::new();
    for item in items(cx, 0)?.iter() {
        let tensor = item.tensor().ok_or_else(|| Stop::failed("an element is not a tensor"))?;
        let mut operand = Operand::new(tensor.clone())?;
        if is_new {
            let at = axes::axis(axis, operand.rank() + 1)?;
            operand.dims.insert(at, 1);
        }
        operands.push(operand);
    }
    joined(cx, &operands, axis)
}
