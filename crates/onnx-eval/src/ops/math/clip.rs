//! `Clip`: elements kept between two bounds, attributes until version 10 and scalar inputs from version 11 on.
//!
//! If the lower bound is above the upper one, the upper one wins. NaN stays. An omitted bound is the least or the greatest
//! finite number of the type, as the text of every version says, and as in onnxruntime; in versions 6 to 10 it is that of
//! `float`, which is the default of the attribute. The reference and the body of the function keep infinities.

use onnx_schema::{attr, op};

use super::variadic::{greater, smaller};
use crate::cx::{Cx, Operand, Outcome};
use crate::family::elementwise::map_elements;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::CLIP, &[since(1, by_given_attributes), since(6, by_attributes), since(11, by_inputs)]);

/// Version 1 has no defaults.
fn by_given_attributes(cx: &mut Cx<'_, '_>) -> Outcome {
    let bound =
        |name| -> Outcome<Option<f32>> { Ok(if cx.has_attribute(name) { cx.float(name)? } else { None }) };
    let (low, high) = (bound(attr::MIN)?, bound(attr::MAX)?);
    between(cx, low, high)
}

fn by_attributes(cx: &mut Cx<'_, '_>) -> Outcome {
    let (low, high) = (cx.float(attr::MIN)?, cx.float(attr::MAX)?);
    between(cx, low, high)
}

fn between(cx: &mut Cx<'_, '_>, low: Option<f32>, high: Option<f32>) -> Outcome {
    let x = cx.tensor(0)?;
    by_number!(x.elem, T => {
        let [low, high] = [low, high].map(|bound| bound.map(|bound| T::of_f64(f64::from(bound))));
        clip::<T>(cx, x, low, high)
    })
}

fn by_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    by_number!(x.elem, T => {
        let (low, high) = (cx.optional_scalar::<T>(1)?, cx.optional_scalar::<T>(2)?);
        clip::<T>(cx, x, low, high)
    })
}

fn clip<T: Number>(cx: &mut Cx<'_, '_>, x: Operand, low: Option<T>, high: Option<T>) -> Outcome {
    let end = x.elem.greatest_finite();
    let (low, high) = (low.or_else(|| end.map(|end| T::of_f64(-end))), high.or_else(|| end.map(T::of_f64)));
    map_elements::<T>(cx, x, |value| {
        let raised = low.map_or(value, |low| greater(value, low));
        high.map_or(raised, |high| smaller(raised, high))
    })
}
