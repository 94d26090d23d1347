//! Operators of one tensor that treat each element by itself: the output has the shape of the input, and by the schema its
//! element type. Nothing is refused and nothing differs from the reference, which infers nothing for the first versions of
//! some of them.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::arithmetic::{Op, join, round};
use crate::family::broadcast;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

const ROWS: &[crate::registry::Row] = &[since(1, like_first)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::ABS, ROWS),
    infer(op::CEIL, ROWS).values(&[since(1, |cx| rounded(cx, true))]),
    infer(op::FLOOR, ROWS).values(&[since(1, |cx| rounded(cx, false))]),
    infer(op::NEG, ROWS).values(&[since(1, negated)]),
    infer(op::RELU, ROWS),
    infer(op::SIGMOID, ROWS),
    infer(op::TANH, ROWS),
];

fn rounded(cx: &mut Cx<'_, '_>, up: bool) -> Outcome {
    broadcast::zip(cx, &[0], |cx, elems| elems.first().map_or(Elem::Unknown, |&elem| round(cx, elem, up)))
}

fn negated(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    let zero = Elem::Int(onnx_types::Dim::Known(0));
    broadcast::zip(cx, &[0], |cx, elems| {
        join(cx, elem, Op::Sub, zero, elems.first().copied().unwrap_or_default())
    })
}
