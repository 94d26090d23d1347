//! `OneHot`: for each index a line along a new axis, with the `on` value at the index and the `off` value elsewhere.
//!
//! Indices count from the end if negative; one outside the depth makes a line of `off` values. Indices and depth may be
//! floats, which are truncated. The text of version 9 has no negative indices; runtimes count them from the end there, too.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::ONE_HOT, &[since(9, one_hot)]).takes(&[(1, Takes::ONE)]);

fn one_hot(cx: &mut Cx<'_, '_>) -> Outcome {
    let (indices, depth, values) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, -1)?, indices.rank() + 1)?;
    let depth = match *cx.read_f64(&depth)? {
        [depth] if (0.0..9.0e15).contains(&depth) => depth as usize,
        _ => return Err(Stop::failed("the depth is not one number of at least 0")),
    };
    let mut dims = indices.dims.clone();
    dims.insert(axis, depth);
    let inner = axes::product(&indices.dims[axis..]);
    let list = cx.read_f64(&indices)?;
    by_unit!(values.elem, U => {
        let pair = cx.units::<U>(&values)?;
        let [off, on] = &*pair else { return Err(Stop::failed("there must be two values")) };
        let mut out = cx.filled(cx.count(&dims)?, off.clone())?;
        for (at, &index) in list.iter().enumerate() {
            let index = index as i128;
            let index = if index < 0 { index + depth as i128 } else { index };
            if let Some(index) = usize::try_from(index).ok().filter(|&index| index < depth) {
                let (outer, rest) = (at / inner, at % inner);
                out[(outer * depth + index) * inner + rest] = on.clone();
            }
        }
        cx.put_units::<U>(0, values.elem, &dims, out)
    })
}
