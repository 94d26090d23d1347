//! `Compress`: the slices of a tensor along an axis, or elements of the flat tensor, for which a list of truth values holds. The
//! list may be shorter than the axis; entries beyond the axis are ignored.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Dims, Outcome, axes};
use crate::family::lines::Lines;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::COMPRESS, &[since(9, compress)]);

fn compress(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, condition) = (cx.tensor(0)?, cx.tensor(1)?);
    let (own, axis): (Dims, usize) = match cx.int(attr::AXIS)? {
        Some(axis) => (x.dims.clone(), axes::axis(axis, x.rank())?),
        None => ([x.count].into_iter().collect(), 0),
    };
    let lines = Lines::new(&own, axis);
    let conditions = cx.units::<u8>(&condition)?;
    let kept = conditions.iter().take(lines.length).enumerate().filter(|(_, holds)| **holds != 0);
    let kept: Vec<usize> = kept.map(|(at, _)| at).collect();
    let mut dims = own;
    dims[axis] = kept.len();
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for outer in 0..lines.outer {
            for at in &kept {
                let from = (outer * lines.length + at) * lines.inner;
                cx.poll().copy(elements.get(from..from + lines.inner).unwrap_or_default(), &mut out)?;
            }
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
