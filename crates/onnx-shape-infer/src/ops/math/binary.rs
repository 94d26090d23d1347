//! Operators whose inputs broadcast: the output has the shape that all inputs have together.
//!
//! Before version 7 of the arithmetic operators, the second input is broadcast along given axes of the first one, which
//! determines the shape. The reference infers nothing for the first version of most of them.

use onnx_schema::{attr, op};

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::arithmetic::{Op, fold};
use crate::family::broadcast::{LAID, aligned, all, zip};
use crate::family::element::pow;
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::ADD, LAID).values(&[since(1, |cx| laid(cx, Op::Add)), since(7, |cx| fold(cx, Op::Add))]),
    infer(op::SUB, LAID).values(&[since(1, |cx| laid(cx, Op::Sub)), since(7, |cx| fold(cx, Op::Sub))]),
    infer(op::MUL, LAID).values(&[since(1, |cx| laid(cx, Op::Mul)), since(7, |cx| fold(cx, Op::Mul))]),
    infer(op::DIV, LAID).values(&[since(1, |cx| laid(cx, Op::Div)), since(7, |cx| fold(cx, Op::Div))]),
    infer(op::POW, LAID).values(&[since(7, power)]),
    infer(op::MOD, &[since(10, all)]).values(&[since(10, modulo)]),
];

fn laid(cx: &mut Cx<'_, '_>, op: Op) -> Outcome {
    aligned(cx)?;
    fold(cx, op)
}

fn modulo(cx: &mut Cx<'_, '_>) -> Outcome {
    let op = if cx.int_or(attr::FMOD, 0)? == 0 { Op::Mod } else { Op::Rem };
    fold(cx, op)
}

/// The exponent may be of another type; the result is of the type of the base.
fn power(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    zip(cx, &[0, 1], |cx, elems| match *elems {
        [base, exponent] => pow(cx, elem, base, exponent),
        _ => Elem::Unknown,
    })
}
