//! `ArgMax`, `ArgMin`: the index of the greatest or least element along an axis, of the first one if several are equal, of
//! the last one with `select_last_index`. NaN counts as the greatest and as the least number. An empty axis fails the run.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::ARG_MAX, &[since(1, |cx| arg(cx, true))]),
    eval(op::ARG_MIN, &[since(1, |cx| arg(cx, false))]),
];

fn arg(cx: &mut Cx<'_, '_>, is_max: bool) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let is_last = cx.flag(attr::SELECT_LAST_INDEX)?;
    let lines = Lines::new(&x.dims, axis);
    let mut dims = x.dims.clone();
    if cx.int_or(attr::KEEPDIMS, 1)? != 0 {
        dims[axis] = 1;
    } else {
        dims.remove(axis);
    }
    if lines.length == 0 && lines.count() > 0 {
        return Err(Stop::failed("the axis has no elements"));
    }
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out: Vec<i64> = cx.buffer(lines.count())?;
        for start in lines.starts() {
            cx.poll().step(lines.length)?;
            let mut best = 0;
            for at in 1..lines.length {
                let (a, b) = (elements[start + best * lines.inner], elements[start + at * lines.inner]);
                let is_better = if is_max { b > a } else { b < a };
                let is_equal = b == a || (a.is_nan() && b.is_nan());
                if (is_better && !a.is_nan()) || (b.is_nan() && !a.is_nan()) || (is_last && is_equal) {
                    best = at;
                }
            }
            out.push(best as i64);
        }
        cx.put(0, ElemType::Int64, &dims, out)
    })
}
