//! `Clip`: elements kept between two bounds, attributes until version 10 and scalar inputs from version 11 on.
//!
//! The shape stays. Where the lower bound is above the upper one, the upper one wins.

use onnx_schema::{attr, op};
use onnx_types::ElemType;
use smallvec::SmallVec;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::arithmetic::{Op, fit, join};
use crate::family::broadcast::zip;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::CLIP, &[since(1, like_first)]).values(&[since(1, by_attributes), since(11, by_inputs)]);

fn by_attributes(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    let mut bounds = [None, None];
    for (bound, name) in bounds.iter_mut().zip([attr::MIN, attr::MAX]) {
        if cx.has_attribute(name) {
            *bound = cx.float(name)?;
        }
    }
    // The defaults are the ends of the range of `float`, and bind no number of that type; a lower bound at the
    // upper end binds all. In a wider type the ends are numbers as others are, and a narrower one rounds most.
    let is_wide = elem == ElemType::Double;
    let [low, high] = bounds;
    let low = low.filter(|&low| is_wide || low.is_nan() || low > f32::MIN);
    let high = high.filter(|&high| is_wide || high.is_nan() || high < f32::MAX);
    let [low, high] =
        [low, high].map(|bound| bound.map(|bound| fit(cx, elem, Elem::number(f64::from(bound)))));
    zip(cx, &[0], |cx, elems| match elems.first().copied().unwrap_or_default() {
        // The defaults bind infinities.
        Elem::Float(value) if !value.is_finite() => Elem::Unknown,
        value => clip(cx, elem, value, low, high),
    })
}

fn by_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    let inputs: SmallVec<[usize; 3]> = (0..3).filter(|&index| cx.has_input(index)).collect();
    let at = |index: usize| inputs.iter().position(|&input| input == index);
    let (low, high) = (at(1), at(2));
    zip(cx, &inputs, |cx, elems| {
        let bound = |at: Option<usize>| at.map(|at| elems.get(at).copied().unwrap_or_default());
        match elems.first().copied().unwrap_or_default() {
            // By the text, omitted bounds bind infinities; the body of the function does not.
            Elem::Float(value) if !value.is_finite() && (low.is_none() || high.is_none()) => Elem::Unknown,
            value => clip(cx, elem, value, bound(low), bound(high)),
        }
    })
}

fn clip(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem, low: Option<Elem>, high: Option<Elem>) -> Elem {
    let raised = low.map_or(value, |low| join(cx, elem, Op::Max, value, low));
    high.map_or(raised, |high| join(cx, elem, Op::Min, raised, high))
}
