//! `Unsqueeze`: axes of size 1 are added where the result has them, named by an attribute until version 12 and by an input
//! from version 13 on.

use onnx_schema::op;

use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::Axes;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::UNSQUEEZE,
    &[since(1, |cx| unsqueeze(cx, Axes::Attribute)), since(13, |cx| unsqueeze(cx, Axes::Input(1)))],
)
.takes(&[(1, Takes::Axes)]);

fn unsqueeze(cx: &mut Cx<'_, '_>, place: Axes) -> Outcome {
    let x = cx.tensor(0)?;
    let listed = cx.axes_at(place)?.ok_or_else(|| Stop::failed("the axes are missing"))?;
    let rank = x.rank() + listed.len();
    let mut is_new = vec![false; rank];
    for axis in axes::axes(&listed, rank)? {
        is_new[axis] = true;
    }
    let mut sizes = x.dims.iter();
    let dims: Option<Dims> =
        is_new.iter().map(|&is_new| if is_new { Some(1) } else { sizes.next().copied() }).collect();
    cx.put_reshaped(0, &x.tensor, &dims.unwrap_or_default())
}
