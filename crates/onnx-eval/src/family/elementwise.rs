//! Operators that compute each element from one or two elements.

use std::cell::Cell;

use onnx_types::ElemType;

use super::broadcast::{aligned, joined, map2, update2};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::interrupt_poll::STEPS;
use crate::number::{Float, Number, by_float, by_number};

/// A function of one number of any type.
pub(crate) trait Map: Sync {
    /// The result for an element.
    fn apply<T: Number>(&self, value: T) -> T;
}

/// A function of one float.
pub(crate) trait MapFloat: Sync {
    /// The result for an element.
    fn apply<T: Float>(&self, value: T) -> T;
}

/// A function of two numbers.
pub(crate) trait Map2 {
    /// The result for two elements; `None` if it is not defined.
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T>;
}

/// Applies a function to the elements of the first input.
pub(crate) fn map(cx: &mut Cx<'_, '_>, function: &impl Map) -> Outcome {
    let x = cx.tensor(0)?;
    by_number!(x.elem, T => map_elements::<T>(cx, x, |value| function.apply::<T>(value)))
}

/// Applies a function to the elements of the first input, which are floats.
pub(crate) fn map_float(cx: &mut Cx<'_, '_>, function: &impl MapFloat) -> Outcome {
    let x = cx.tensor(0)?;
    by_float!(x.elem, T => map_elements::<T>(cx, x, |value| function.apply::<T>(value)))
}

/// The operations that a function of one element counts as where threads are chosen: those that take long are functions of
/// floats.
const FUNCTION: usize = 8;

/// Applies a function to the elements of the first input, in their memory if nothing else uses them.
pub(crate) fn map_elements<T: Number>(
    cx: &mut Cx<'_, '_>,
    x: Operand,
    function: impl Fn(T) -> T + Sync,
) -> Outcome {
    let (elem, dims) = (x.elem, x.dims.clone());
    let threads = cx.threads_for(x.count.saturating_mul(FUNCTION));
    let mut out = match cx.reuse::<T>(0, x)? {
        Ok(elements) => elements,
        Err(x) => {
            let elements = cx.read::<T>(&x)?;
            let mut out = cx.buffer(x.count)?;
            if threads.count() == 1 {
                cx.poll().map(&elements, &mut out, |&element| function(element))?;
                return cx.put(0, elem, &dims, out);
            }
            cx.poll().copy(&elements, &mut out)?;
            out
        }
    };
    let poll = cx.poll().clone();
    threads.for_each_part(&mut out, 1, |_, part| {
        let mut poll = poll.clone();
        part.chunks_mut(STEPS).try_for_each(|piece| {
            poll.step(piece.len())?;
            piece.iter_mut().for_each(|value| *value = function(*value));
            Ok(())
        })
    })?;
    cx.put(0, elem, &dims, out)
}

/// Applies a function to the elements of the first two inputs, which broadcast.
pub(crate) fn zip(cx: &mut Cx<'_, '_>, function: &impl Map2) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let b_dims = aligned(cx, &a, &b)?;
    let is_undefined = Cell::new(false);
    by_number!(a.elem, T => {
        let apply = |a, b| {
            function.apply::<T>(a, b).unwrap_or_else(|| {
                is_undefined.set(true);
                T::ZERO
            })
        };
        let elem = a.elem;
        let (dims, out) = combined::<T>(cx, a, (b, &b_dims), apply)?;
        if is_undefined.get() {
            return Err(Stop::failed("an integer is divided by zero"));
        }
        cx.put(0, elem, &dims, out)
    })
}

/// Applies a function to each pair of elements of the first two inputs, in the memory of one that has the sizes of the result
/// if nothing else uses it.
fn combined<T: Number>(
    cx: &mut Cx<'_, '_>,
    mut a: Operand,
    (mut b, b_dims): (Operand, &[usize]),
    function: impl Fn(T, T) -> T,
) -> Outcome<(Dims, Vec<T>)> {
    let a_dims = a.dims.clone();
    let dims = joined(&[&a_dims, b_dims])?;
    if dims == a_dims {
        match cx.reuse::<T>(0, a)? {
            Ok(mut out) => {
                let b = cx.read::<T>(&b)?;
                update2(cx.poll(), &mut out, &dims, (&b, b_dims), &function)?;
                return Ok((dims, out));
            }
            Err(operand) => a = operand,
        }
    }
    if dims[..] == *b_dims {
        match cx.reuse::<T>(1, b)? {
            Ok(mut out) => {
                let a = cx.read::<T>(&a)?;
                update2(cx.poll(), &mut out, &dims, (&a, &a_dims), |b, a| function(a, b))?;
                return Ok((dims, out));
            }
            Err(operand) => b = operand,
        }
    }
    let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
    map2(cx, (&x, &a_dims), (&y, b_dims), function)
}

/// Applies a function to the elements of the first two inputs, which broadcast; the result is a tensor of `bool`.
pub(crate) fn test(cx: &mut Cx<'_, '_>, function: &impl Test2) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let b_dims = aligned(cx, &a, &b)?;
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let (dims, out) =
            map2(cx, (&x, &a.dims), (&y, &b_dims), |a, b| u8::from(function.apply::<T>(a, b)))?;
        cx.put_units(0, ElemType::Bool, &dims, out)
    })
}

/// A condition on two numbers.
pub(crate) trait Test2 {
    /// Returns `true` if the condition holds.
    fn apply<T: Number>(&self, a: T, b: T) -> bool;
}
