//! Operators of one tensor that treat each element by itself: the output has the shape of the input, and by the schema its
//! element type. Nothing is refused and nothing differs from the reference, which infers nothing for the first versions of
//! some of them.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::arithmetic::round;
use crate::family::broadcast;
use crate::family::element::{abs, map, nearest, neg, relu, sign, sqrt};
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, Row, infer, since};

const FROM_1: &[Row] = &[since(1, like_first)];
const FROM_7: &[Row] = &[since(7, like_first)];
const FROM_9: &[Row] = &[since(9, like_first)];
const FROM_10: &[Row] = &[since(10, like_first)];
const FROM_11: &[Row] = &[since(11, like_first)];
const FROM_12: &[Row] = &[since(12, like_first)];
const FROM_14: &[Row] = &[since(14, like_first)];
const FROM_18: &[Row] = &[since(18, like_first)];
const FROM_20: &[Row] = &[since(20, like_first)];
const FROM_24: &[Row] = &[since(24, like_first)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::ABS, FROM_1).values(&[since(1, |cx| map(cx, abs))]),
    infer(op::ACOS, FROM_7),
    infer(op::ACOSH, FROM_9),
    infer(op::ASIN, FROM_7),
    infer(op::ASINH, FROM_9),
    infer(op::ATAN, FROM_7),
    infer(op::ATANH, FROM_9),
    infer(op::CEIL, FROM_1).values(&[since(1, |cx| rounded(cx, true))]),
    infer(op::CELU, FROM_12),
    infer(op::COS, FROM_7),
    infer(op::COSH, FROM_9),
    infer(op::ELU, FROM_1),
    infer(op::ERF, FROM_9),
    infer(op::EXP, FROM_1),
    infer(op::FLOOR, FROM_1).values(&[since(1, |cx| rounded(cx, false))]),
    infer(op::GELU, FROM_20),
    infer(op::HARD_SIGMOID, FROM_1),
    infer(op::HARD_SWISH, FROM_14),
    infer(op::LEAKY_RELU, FROM_1),
    infer(op::LOG, FROM_1),
    infer(op::MISH, FROM_18),
    infer(op::NEG, FROM_1).values(&[since(1, |cx| map(cx, neg))]),
    infer(op::RECIPROCAL, FROM_1),
    infer(op::RELU, FROM_1).values(&[since(1, |cx| map(cx, relu))]),
    infer(op::ROUND, FROM_11).values(&[since(11, |cx| map(cx, nearest))]),
    infer(op::SELU, FROM_1),
    infer(op::SHRINK, FROM_9),
    infer(op::SIGMOID, FROM_1),
    infer(op::SIGN, FROM_9).values(&[since(9, |cx| map(cx, sign))]),
    infer(op::SIN, FROM_7),
    infer(op::SINH, FROM_9),
    infer(op::SOFTPLUS, FROM_1),
    infer(op::SOFTSIGN, FROM_1),
    infer(op::SQRT, FROM_1).values(&[since(1, |cx| map(cx, sqrt))]),
    infer(op::SWISH, FROM_24),
    infer(op::TAN, FROM_7),
    infer(op::TANH, FROM_1),
    infer(op::THRESHOLDED_RELU, FROM_10),
];

fn rounded(cx: &mut Cx<'_, '_>, up: bool) -> Outcome {
    broadcast::zip(cx, &[0], |cx, elems| elems.first().map_or(Elem::Unknown, |&elem| round(cx, elem, up)))
}
