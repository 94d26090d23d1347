//! `CumProd`, `CumSum`: sums and products of the elements up to each one along an axis, without it if `exclusive`, from the
//! end if `reverse`. The axis is a tensor of one element.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, axes};
use crate::family::lines::Lines;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, Takes, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::CUM_PROD, &[since(26, |cx| scan(cx, true))]).open().takes(&[(1, Takes::ZERO)]),
    eval(op::CUM_SUM, &[since(11, |cx| scan(cx, false))]).open().takes(&[(1, Takes::ZERO)]),
];

fn scan(cx: &mut Cx<'_, '_>, is_product: bool) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.scalar_int(1)?, x.rank())?;
    let (is_exclusive, is_reverse) = (cx.flag(attr::EXCLUSIVE)?, cx.flag(attr::REVERSE)?);
    let lines = Lines::new(&x.dims, axis);
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.filled(x.count, T::ZERO)?;
        for start in lines.starts() {
            cx.poll().step(lines.length)?;
            let mut so_far = if is_product { T::ONE } else { T::ZERO };
            for at in 0..lines.length {
                let at = if is_reverse { lines.length - 1 - at } else { at };
                let place = start + at * lines.inner;
                let before = so_far;
                let element = elements[place];
                so_far = if is_product { so_far.times(element) } else { so_far.plus(element) };
                out[place] = if is_exclusive { before } else { so_far };
            }
        }
        cx.put(0, x.elem, &x.dims, out)
    })
}
