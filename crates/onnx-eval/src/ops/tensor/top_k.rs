//! `TopK`: the greatest or least elements along an axis with their indices, in order. Of equal elements the lower index comes
//! first; NaN counts as greater than any number.
//!
//! The result is in order also if `sorted` is 0, which permits any order.

use std::cmp::Ordering;

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::TOP_K, &[since(1, by_attribute), since(10, by_input)]).takes(&[(1, Takes::ONE)]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let k = cx.int(attr::K)?.ok_or_else(|| Stop::failed("attribute `k` is missing"))?;
    top_k(cx, k)
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let k = cx.scalar_int(1)?;
    top_k(cx, k)
}

/// The order of two numbers in which NaN is the greatest.
pub(in crate::ops) fn order<T: Number>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn top_k(cx: &mut Cx<'_, '_>, k: i64) -> Outcome {
    let x = cx.tensor(0)?;
    let axis = axes::axis(cx.int_or(attr::AXIS, -1)?, x.rank())?;
    let is_largest = cx.int_or(attr::LARGEST, 1)? != 0;
    let lines = Lines::new(&x.dims, axis);
    let k = axes::size(k)?;
    if k > lines.length {
        return Err(Stop::failed(format_args!("{k} elements of an axis of size {}", lines.length)));
    }
    let mut dims = x.dims.clone();
    dims[axis] = k;
    let result = Lines::new(&dims, axis);
    cx.work(x.count.saturating_mul(16))?;
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let count = cx.count(&dims)?;
        let (mut values, mut indices) = (cx.filled(count, T::ZERO)?, cx.filled(count, 0_i64)?);
        let mut line: Vec<usize> = cx.buffer(lines.length)?;
        for (from, to) in lines.starts().zip(result.starts().chain(std::iter::repeat(0))) {
            cx.poll().step(lines.length.saturating_mul(16))?;
            line.clear();
            line.extend(0..lines.length);
            let at = |index: usize| elements[from + index * lines.inner];
            line.sort_by(|&a, &b| if is_largest { order(at(b), at(a)) } else { order(at(a), at(b)) });
            for (rank, &index) in line.iter().take(k).enumerate() {
                values[to + rank * lines.inner] = at(index);
                indices[to + rank * lines.inner] = index as i64;
            }
        }
        cx.put(0, x.elem, &dims, values)?;
        cx.put(1, ElemType::Int64, &dims, indices)
    })
}
