//! Comparison and logic of two tensors that broadcast, and `Not`.
//!
//! Until version 6 the second input is broadcast along given axes of the first one, which determines the shape.
//! Elements are propagated: constants if the comparison holds for all sizes or for none, and otherwise an expression
//! with the value 0 or 1.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{LAID, aligned, all, zip};
use crate::family::comparison::{and, equality, not, or, order, pairs, weak_order, xor};
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::AND, LAID).values(&[since(1, |cx| laid(cx, logic_and)), since(7, logic_and)]),
    infer(op::EQUAL, LAID).values(&[since(1, |cx| laid(cx, same)), since(7, same)]),
    infer(op::GREATER, LAID).values(&[since(1, |cx| laid(cx, greater)), since(7, greater)]),
    infer(op::GREATER_OR_EQUAL, &[since(12, all)])
        .values(&[since(12, |cx| pairs(cx, |cx, a, b| weak_order(cx, b, a)))]),
    infer(op::LESS, LAID).values(&[since(1, |cx| laid(cx, smaller)), since(7, smaller)]),
    infer(op::LESS_OR_EQUAL, &[since(12, all)]).values(&[since(12, |cx| pairs(cx, weak_order))]),
    infer(op::NOT, &[since(1, like_first)]).values(&[since(1, opposite)]),
    infer(op::OR, LAID).values(&[since(1, |cx| laid(cx, logic_or)), since(7, logic_or)]),
    infer(op::XOR, LAID).values(&[since(1, |cx| laid(cx, logic_xor)), since(7, logic_xor)]),
];

fn laid(cx: &mut Cx<'_, '_>, values: fn(&mut Cx<'_, '_>) -> Outcome) -> Outcome {
    aligned(cx)?;
    values(cx)
}

fn same(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, equality)
}

fn smaller(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, order)
}

fn greater(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, |cx, a, b| order(cx, b, a))
}

fn logic_and(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, and)
}

fn logic_or(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, or)
}

fn logic_xor(cx: &mut Cx<'_, '_>) -> Outcome {
    pairs(cx, xor)
}

fn opposite(cx: &mut Cx<'_, '_>) -> Outcome {
    zip(cx, &[0], |cx, elems| not(cx, elems.first().copied().unwrap_or_default()))
}
