//! `Flatten`: a matrix whose rows are the axes before one, and whose columns are those from it on. The axis may be the rank;
//! negative ones count from the end from version 11 on.

use onnx_schema::{attr, op};

use crate::cx::axes::product;
use crate::cx::{Cx, Outcome, Stop, axes};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::FLATTEN, &[since(1, flatten)]);

fn flatten(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = cx.int_or(attr::AXIS, 1)?;
    if axis < 0 && cx.since() < 11 {
        return Err(Stop::failed("the axis is negative"));
    }
    let axis = if usize::try_from(axis) == Ok(x.rank()) { x.rank() } else { axes::axis(axis, x.rank())? };
    let dims = [product(&x.dims[..axis]), product(&x.dims[axis..])];
    cx.put_reshaped(0, &x.tensor, &dims)
}
