//! `Unique`: the different elements of the flat tensor, or the different slices along an axis, with the index of the first
//! occurrence of each, the index of each element among them, and their counts.
//!
//! The result is in ascending order (slices in lexicographic order), or in the order of first occurrence if `sorted` is 0. NaNs
//! are equal, and greater than any number. Complex numbers are ordered by their real parts, equal ones by their imaginary parts.

use std::cmp::Ordering;

use bytes::Bytes;
use onnx_schema::{attr, op};
use onnx_types::{ElemClass, ElemType};

use super::top_k::order;
use crate::cx::{Cx, Dims, Operand, Outcome, axes};
use crate::family::lines::Lines;
use crate::number::by_number;
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::UNIQUE, &[since(11, unique)]);

fn unique(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut x = cx.tensor(0)?;
    let axis = match cx.int(attr::AXIS)? {
        Some(axis) => axes::axis(axis, x.rank())?,
        None => {
            x.dims = [x.count].into_iter().collect();
            0
        }
    };
    let lines = Lines::new(&x.dims, axis);
    cx.work(x.count.saturating_mul(32))?;
    if x.elem == ElemType::String {
        let elements = cx.units::<Bytes>(&x)?;
        return found(cx, &x, axis, lines, &|a, b| elements[a].cmp(&elements[b]));
    }
    if x.elem.class() == ElemClass::Complex {
        let elements = cx.complex(&x)?;
        let compare = |(a, b): (f64, f64), (c, d): (f64, f64)| order(a, c).then(order(b, d));
        return found(cx, &x, axis, lines, &|a, b| compare(elements[a], elements[b]));
    }
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        found(cx, &x, axis, lines, &|a, b| order(elements[a], elements[b]))
    })
}

/// The result by the order of two elements. A copy for each type would be large.
fn found(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    axis: usize,
    lines: Lines,
    compare: &dyn Fn(usize, usize) -> Ordering,
) -> Outcome {
    let offsets = || (0..lines.outer).flat_map(|o| (0..lines.inner).map(move |i| (o, i)));
    let slice = |a: usize, b: usize| {
        let place = |o: usize, at: usize, i: usize| (o * lines.length + at) * lines.inner + i;
        let mut orders = offsets().map(|(o, i)| compare(place(o, a, i), place(o, b, i)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    // Sorted by content, equal slices by index: so the first of each group is the first occurrence.
    // An index, and a group with one index.
    cx.budget.allocate(
        lines.length,
        2 * size_of::<usize>() + 2 * size_of::<Vec<usize>>() + 4 * size_of::<usize>(),
    )?;
    let mut sorted: Vec<usize> = (0..lines.length).collect();
    sorted.sort_by(|&a, &b| slice(a, b));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in sorted {
        match groups.last_mut() {
            Some(group) if slice(group[0], at).is_eq() => group.push(at),
            _ => groups.push(vec![at]),
        }
    }
    if cx.int_or(attr::SORTED, 1)? == 0 {
        groups.sort_by_key(|group| group[0]);
    }
    let mut dims: Dims = x.dims.clone();
    dims[axis] = groups.len();
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(x)?;
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for outer in 0..lines.outer {
            for group in &groups {
                let from = (outer * lines.length + group[0]) * lines.inner;
                out.extend_from_slice(elements.get(from..from + lines.inner).unwrap_or_default());
            }
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })?;
    let mut inverse = vec![0_i64; lines.length];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|&at| inverse[at] = index as i64);
    }
    let firsts: Vec<i64> = groups.iter().map(|group| group[0] as i64).collect();
    let counts: Vec<i64> = groups.iter().map(|group| group.len() as i64).collect();
    for (index, list) in [(1, firsts), (2, inverse), (3, counts)] {
        if cx.wants(index) {
            cx.put(index, ElemType::Int64, &[list.len()], list)?;
        }
    }
    Ok(())
}
