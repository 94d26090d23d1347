//! Operators whose inputs broadcast: the output has the shape that all inputs have together.
//!
//! Before version 7 of the arithmetic operators, the second input is laid along given axes of the first one, which alone
//! decides the shape.

use onnx_schema::op;

use crate::family::arithmetic::{Op, fold};
use crate::family::broadcast::all;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, Row, infer, since};

/// The second input is laid along the first until version 6.
const LAID: &[Row] = &[since(1, like_first), since(7, all)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::ADD, LAID).values(&[since(1, |cx| fold(cx, Op::Add))]),
    infer(op::SUB, LAID).values(&[since(1, |cx| fold(cx, Op::Sub))]),
    infer(op::MUL, LAID).values(&[since(1, |cx| fold(cx, Op::Mul))]),
    infer(op::DIV, LAID).values(&[since(1, |cx| fold(cx, Op::Div))]),
];
