//! `PRelu`: negative elements times a slope, which broadcasts to the input from version 7 on. Before, the slope has one
//! element, or one for each channel (axis 1).

use onnx_schema::op;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::broadcast::map2;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::P_RELU, &[since(1, prelu)]);

fn prelu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, slope) = (cx.tensor(0)?, cx.tensor(1)?);
    let mut dims = slope.dims.clone();
    if cx.since() < 7 && slope.count > 1 && slope.rank() == 1 {
        dims.extend(std::iter::repeat_n(1, x.rank().saturating_sub(2)));
    }
    by_number!(x.elem, T => {
        let (elements, slopes) = (cx.read::<T>(&x)?, cx.read::<T>(&slope)?);
        let (dims, out) = map2(cx, (&elements, &x.dims), (&slopes, &dims), |x: T, slope: T| {
            if x < T::ZERO { x.times(slope) } else { x }
        })?;
        if dims != x.dims {
            return Err(Stop::failed(format_args!(
                "a slope of the sizes {:?} does not broadcast to the input {:?}",
                slope.dims, x.dims
            )));
        }
        cx.put(0, x.elem, &dims, out)
    })
}
