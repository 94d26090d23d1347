//! `Squeeze`: axes of size 1 are removed, named by an attribute until version 12 and by an input from version 13 on; all axes
//! of size 1 if none is named. A named axis of another size fails the run.

use onnx_schema::op;

use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::Axes;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::SQUEEZE,
    &[since(1, |cx| squeeze(cx, Axes::Attribute)), since(13, |cx| squeeze(cx, Axes::Input(1)))],
)
.takes(&[(1, Takes::Axes)]);

fn squeeze(cx: &mut Cx<'_, '_>, place: Axes) -> Outcome {
    let x = cx.tensor(0)?;
    let mut removed: Vec<bool> = x.dims.iter().map(|&dim| dim == 1).collect();
    if let Some(listed) = cx.axes_at(place)? {
        removed.fill(false);
        for axis in listed {
            let axis = axes::axis(axis, x.rank())?;
            if x.dims[axis] != 1 {
                return Err(Stop::failed(format_args!("axis {axis} has size {}, not 1", x.dims[axis])));
            }
            removed[axis] = true;
        }
    }
    let kept = x.dims.iter().zip(removed).filter(|(_, removed)| !removed);
    let dims: Dims = kept.map(|(&dim, _)| dim).collect();
    cx.put_reshaped(0, &x.tensor, &dims)
}
