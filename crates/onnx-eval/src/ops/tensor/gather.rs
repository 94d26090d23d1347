//! `Gather`: slices of a tensor along an axis, by indices, which count from the end if negative. An index outside the axis
//! fails the run.

use std::ops::Range;

use bytes::Bytes;
use onnx_schema::{attr, op};
use onnx_types::tensor::{NoData, Payload, Tensor};

use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Elems, Unit, by_unit};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::GATHER, &[since(1, gather)]).takes(&[(1, Takes::Indices { of: 0, axis: None })]);

/// An index of an axis; negative ones count from the end.
pub(crate) fn index(index: i64, size: usize) -> Outcome<usize> {
    let from_start = if index < 0 { i128::from(index) + size as i128 } else { i128::from(index) };
    let outside = || Stop::failed(format_args!("index {index} is outside an axis of size {size}"));
    usize::try_from(from_start).ok().filter(|&index| index < size).ok_or_else(outside)
}

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let mut dims: Dims = x.dims[..axis].into();
    dims.extend_from_slice(&indices.dims);
    dims.extend_from_slice(&x.dims[axis + 1..]);
    let lines = Lines::new(&x.dims, axis);
    let list = cx.read::<i64>(&indices)?;
    let places = list.iter().map(|&at| index(at, lines.length)).collect::<Outcome<Vec<_>>>()?;
    by_unit!(x.elem, U => {
        let count = cx.count(&dims)?;
        let table = Table::<U>::read(cx, &x, lines.outer.saturating_mul(places.len()), count)?;
        let mut out = cx.buffer(count)?;
        for outer in 0..lines.outer {
            for place in &places {
                let from = (outer * lines.length + place) * lines.inner;
                table.append(from..from + lines.inner, &mut out, cx.poll())?;
            }
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}

/// The operand.
enum Table<'a, U> {
    Elements(Elems<U>),
    /// Bytes that are not aligned for elements, of which few are read: a copy of all of them would cost more.
    Bytes(&'a Operand, &'a Bytes),
}

impl<'a, U: Unit> Table<'a, U> {
    fn read(cx: &mut Cx<'_, '_>, x: &'a Operand, rows: usize, count: usize) -> Outcome<Self> {
        /// A row that is read by itself costs about as much as a copy of this number of elements.
        const ROW: usize = 64;
        if let Payload::Raw(bytes) = x.tensor.payload()
            && x.elem.bits().is_some_and(|bits| bits as usize == size_of::<U>() * 8)
            && !bytes.as_ptr().addr().is_multiple_of(align_of::<U>())
            && rows.saturating_mul(ROW).saturating_add(count) < x.count
        {
            x.tensor.validate()?;
            return Ok(Self::Bytes(x, bytes));
        }
        cx.units::<U>(x).map(Self::Elements)
    }

    /// Appends some elements to a vector.
    fn append(&self, range: Range<usize>, out: &mut Vec<U>, poll: &mut InterruptPoll) -> Outcome {
        match self {
            Self::Elements(elements) => poll.copy(elements.get(range).unwrap_or_default(), out),
            Self::Bytes(x, bytes) => {
                let (count, size) = (range.len(), size_of::<U>());
                let row = bytes.get(range.start * size..range.end * size).unwrap_or_default();
                let row = Payload::Raw(bytes.slice_ref(row));
                let row = Tensor::from_parts(x.elem.code(), [count as i64].as_slice().into(), row);
                poll.copy(&U::load(&row, &NoData)?, out)
            }
        }
    }
}
