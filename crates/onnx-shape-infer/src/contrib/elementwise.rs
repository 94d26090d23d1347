//! Operators whose output has the shape of the first input, and those that broadcast.
//!
//! A bias, scale or gate broadcasts to the first input and never changes its shape. `SwiGLU` without `up` and
//! `BiasSplitGelu` take both halves of the last axis as one input; its size must be even.

use onnx_schema::onnxruntime::{default, microsoft};
use onnx_types::Dim;

use super::like_first;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::family::{broadcast, elementwise};

pub(super) const RULES: &[OpRules] = &[
    infer(default::AFFINE, &[since(1, like_first)]),
    infer(default::IMAGE_SCALER, &[since(1, like_first)]),
    infer(default::MEMCPY_FROM_HOST, &[since(1, like_first)]).values(&[since(1, elementwise::keep_elements)]),
    infer(default::MEMCPY_TO_HOST, &[since(1, like_first)]).values(&[since(1, elementwise::keep_elements)]),
    infer(default::PARAMETRIC_SOFTPLUS, &[since(1, like_first)]),
    infer(default::SCALE, &[since(1, like_first)]),
    infer(default::SCALED_TANH, &[since(1, like_first)]),
    infer(default::THRESHOLDED_RELU, &[since(1, like_first)]),
    infer(microsoft::BIAS_ADD, &[since(1, like_first)]),
    infer(microsoft::BIAS_GELU, &[since(1, like_first)]),
    infer(microsoft::BIAS_SOFTMAX, &[since(1, like_first)]),
    infer(microsoft::BIAS_SPLIT_GELU, &[since(1, halve_last)]),
    infer(microsoft::COMPLEX_MUL, &[since(1, broadcast::all)]),
    infer(microsoft::COMPLEX_MUL_CONJ, &[since(1, broadcast::all)]),
    infer(microsoft::FAST_GELU, &[since(1, like_first)]),
    infer(microsoft::GATED_ADD, &[since(1, like_first)]),
    infer(microsoft::GELU, &[since(1, like_first)]),
    infer(microsoft::QUICK_GELU, &[since(1, like_first)]),
    infer(microsoft::SAMPLE_OP, &[since(1, like_first)]),
    infer(microsoft::SCALED_SI_LU, &[since(1, like_first)]),
    infer(microsoft::SWI_GLU, &[since(1, swiglu)]),
];

fn swiglu(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_input(1) { like_first(cx) } else { halve_last(cx) }
}

fn halve_last(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    if let Some(last) = dims.last_mut() {
        *last = cx.dims().floor_div(*last, Dim::Known(2));
    }
    cx.set_dims(0, dims);
    Ok(())
}
