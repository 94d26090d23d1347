//! `TensorScatter`: a cache with an update written along an axis, for each element of the batch from its own index on; with
//! the mode `circular`, indices wrap around.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::TENSOR_SCATTER, &[since(24, scatter)]);

fn scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    let (cache, update) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, -2)?, cache.rank())?;
    let mut expected = cache.dims.clone();
    expected[axis] = update.dims.get(axis).copied().unwrap_or(0);
    if axis == 0 || update.dims != expected || update.dims[axis] > cache.dims[axis] {
        return Err(Stop::failed(format_args!(
            "an update of the sizes {:?} does not fit a cache {:?} along axis {axis}",
            update.dims, cache.dims
        )));
    }
    let batch = cache.dims[0];
    let starts = match cx.optional_list(2)? {
        Some(starts) => axes::sizes(&starts)?.to_vec(),
        None => vec![0; batch],
    };
    if starts.len() != batch {
        return Err(Stop::failed(format_args!("{} indices for a batch of {batch}", starts.len())));
    }
    let is_circular = cx.text(attr::MODE)? == "circular";
    let (old, new) = (Lines::new(&cache.dims, axis), Lines::new(&update.dims, axis));
    let per_batch = old.outer.checked_div(batch).unwrap_or(0);
    by_unit!(cache.elem, U => {
        let (elements, updates) = (cx.units::<U>(&cache)?, cx.units::<U>(&update)?);
        let mut out: Vec<U> = cx.buffer(cache.count)?;
        cx.poll().copy(&elements, &mut out)?;
        for outer in 0..old.outer {
            let start = starts[outer / per_batch.max(1)];
            for at in 0..new.length {
                let place = start.checked_add(at).ok_or(Stop::Limit("run_elements"))?;
                let place = if is_circular { place % old.length } else { place };
                if place >= old.length {
                    return Err(Stop::failed("the update reaches beyond the cache"));
                }
                let (to, from) = ((outer * old.length + place) * old.inner, (outer * new.length + at) * new.inner);
                out[to..to + old.inner].clone_from_slice(&updates[from..from + new.inner]);
            }
        }
        cx.put_units(0, cache.elem, &cache.dims, out)
    })
}
