//! `Concat`: tensors one after the other along an axis; 1 by default before version 4.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CONCAT, &[since(1, concat)]);

fn concat(cx: &mut Cx<'_, '_>) -> Outcome {
    let operands = (0..cx.input_count()).map(|index| cx.tensor(index)).collect::<Outcome<Vec<_>>>()?;
    let axis = cx.int_or(attr::AXIS, 1)?;
    joined(cx, &operands, axis)
}

/// Sets the output to the operands one after the other along an axis.
pub(in crate::ops) fn joined(cx: &mut Cx<'_, '_>, operands: &[Operand], axis: i64) -> Outcome {
    let first = operands.first().ok_or_else(|| Stop::failed("operands are missing"))?;
    let axis = axes::axis(axis, first.rank())?;
    let mut dims = first.dims.clone();
    dims[axis] = 0;
    for operand in operands {
        let mut other = operand.dims.clone();
        let fits = other.len() == dims.len() && operand.elem == first.elem;
        if fits {
            dims[axis] = dims[axis].checked_add(other[axis]).ok_or(Stop::Limit("run_elements"))?;
            other[axis] = dims[axis];
        }
        if !fits || other != dims {
            return Err(Stop::failed(format_args!(
                "{}{:?} and {}{:?} differ in another axis than {axis}, in rank or in type",
                first.elem, first.dims, operand.elem, operand.dims
            )));
        }
    }
    let rows = Lines::new(&dims, axis).outer;
    by_unit!(first.elem, U => {
        let parts = operands.iter().map(|x| cx.units::<U>(x)).collect::<Outcome<Vec<_>>>()?;
        let lengths: Vec<usize> = operands
            .iter()
            .map(|x| {
                let lines = Lines::new(&x.dims, axis);
                lines.length * lines.inner
            })
            .collect();
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for row in 0..rows {
            for (part, &length) in parts.iter().zip(&lengths) {
                let part = part.get(row * length..(row + 1) * length).unwrap_or_default();
                cx.poll().copy(part, &mut out)?;
            }
        }
        cx.put_units::<U>(0, first.elem, &dims, out)
    })
}
