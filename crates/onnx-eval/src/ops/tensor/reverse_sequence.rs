//! `ReverseSequence`: for each element of a batch, the first elements of the time axis in reverse, as many as a list says.

use onnx_schema::{attr, op};

use crate::cx::axes::strides;
use crate::cx::{Cx, Outcome, Stop, axes};
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::REVERSE_SEQUENCE, &[since(10, reverse)]).takes(&[(1, Takes::ONE)]);

fn reverse(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let lengths = cx.list(1)?;
    let batch = axes::axis(cx.int_or(attr::BATCH_AXIS, 1)?, x.rank())?;
    let time = axes::axis(cx.int_or(attr::TIME_AXIS, 0)?, x.rank())?;
    if batch == time {
        return Err(Stop::failed(format_args!("axis {batch} is both that of the batch and that of time")));
    }
    if lengths.len() != x.dims[batch] {
        return Err(Stop::failed(format_args!("{} lengths for a batch of {}", lengths.len(), x.dims[batch])));
    }
    let lengths = axes::sizes(&lengths)?;
    if let Some(length) = lengths.iter().find(|&&length| length > x.dims[time]) {
        return Err(Stop::failed(format_args!(
            "length {length} exceeds the {} elements of the time axis",
            x.dims[time]
        )));
    }
    let own = strides(&x.dims);
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(x.count)?;
        out.extend((0..x.count).map(|place| {
            let index = |axis: usize| place / own[axis] % x.dims[axis];
            let (at, length) = (index(time), lengths[index(batch)]);
            let from = if at < length { place - at * own[time] + (length - 1 - at) * own[time] } else { place };
            elements[from].clone()
        }));
        cx.put_units::<U>(0, x.elem, &x.dims, out)
    })
}
