//! `Max`, `Mean`, `Min`, `Sum`: any number of tensors, element by element. NaN wins in `Max` and `Min`.
//!
//! Elements are combined from the first tensor to the last. A mean is the sum divided by the number of tensors, both in the
//! type in which the elements are computed.

use onnx_schema::op;

use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::broadcast::map2;
use crate::number::{Elems, Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::MAX, &[since(1, |cx| combine(cx, Join::Max))]),
    eval(op::MEAN, &[since(1, |cx| combine(cx, Join::Mean))]).open(),
    eval(op::MIN, &[since(1, |cx| combine(cx, Join::Min))]),
    eval(op::SUM, &[since(1, |cx| combine(cx, Join::Sum))]).open(),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Max,
    Mean,
    Min,
    Sum,
}

/// The greater number, or NaN.
pub(in crate::ops) fn greater<T: Number>(a: T, b: T) -> T {
    if a.is_nan() || a > b || a == b { a } else { b }
}

/// The smaller number, or NaN.
pub(in crate::ops) fn smaller<T: Number>(a: T, b: T) -> T {
    if a.is_nan() || a < b || a == b { a } else { b }
}

fn combine(cx: &mut Cx<'_, '_>, join: Join) -> Outcome {
    let first = cx.tensor(0)?;
    let count = cx.input_count();
    by_number!(first.elem, T => {
        let mut sum: Elems<T> = cx.read::<T>(&first)?;
        let mut dims: Dims = first.dims.clone();
        for index in 1..count {
            let next = cx.tensor(index)?;
            if cx.since() < 8 && next.dims != first.dims {
                return Err(Stop::wrong_sizes("an operand", &next.dims, &first.dims));
            }
            let elements = cx.read::<T>(&next)?;
            let (joined, out) = map2(cx, (&sum, &dims), (&elements, &next.dims), |a: T, b: T| match join {
                Join::Max => greater(a, b),
                Join::Min => smaller(a, b),
                Join::Mean | Join::Sum => a.plus(b),
            })?;
            (dims, sum) = (joined, Elems::owned(out));
        }
        let mut out = sum.into_vec();
        if join == Join::Mean {
            let divisor = T::of_i64(count as i64);
            out.iter_mut().for_each(|x| *x = x.over(divisor).unwrap_or(*x));
        }
        cx.put(0, first.elem, &dims, out)
    })
}
