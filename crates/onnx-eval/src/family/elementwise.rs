//! Operators that compute each element from one or two elements.

use std::cell::Cell;

use onnx_types::ElemType;

use super::broadcast::{aligned, map2};
use crate::cx::{Cx, Outcome, Stop};
use crate::number::{Float, Number, by_float, by_number};

/// A function of one number of any type.
pub(crate) trait Map {
    /// The result for an element.
    fn apply<T: Number>(&self, value: T) -> T;
}

/// A function of one float.
pub(crate) trait MapFloat {
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
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.buffer(x.count)?;
        out.extend(elements.iter().map(|&value| function.apply::<T>(value)));
        cx.put(0, x.elem, &x.dims, out)
    })
}

/// Applies a function to the elements of the first input, which are floats.
pub(crate) fn map_float(cx: &mut Cx<'_, '_>, function: &impl MapFloat) -> Outcome {
    let x = cx.tensor(0)?;
    by_float!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.buffer(x.count)?;
        out.extend(elements.iter().map(|&value| function.apply::<T>(value)));
        cx.put(0, x.elem, &x.dims, out)
    })
}

/// Applies a function to the elements of the first two inputs, which broadcast.
pub(crate) fn zip(cx: &mut Cx<'_, '_>, function: &impl Map2) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let b_dims = aligned(cx, &a, &b)?;
    let is_undefined = Cell::new(false);
    by_number!(a.elem, T => {
        let (x, y) = (cx.read::<T>(&a)?, cx.read::<T>(&b)?);
        let (dims, out) = map2(cx, (&x, &a.dims), (&y, &b_dims), |a, b| {
            function.apply::<T>(a, b).unwrap_or_else(|| {
                is_undefined.set(true);
                T::ZERO
            })
        })?;
        if is_undefined.get() {
            return Err(Stop::failed("an integer is divided by zero"));
        }
        cx.put(0, a.elem, &dims, out)
    })
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
