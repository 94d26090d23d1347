//! `Max`, `Mean`, `Min`, `Sum`: any number of tensors, element by element.
//!
//! Until version 7 all have the same shape, from version 8 on they broadcast. As in the reference, the older versions
//! take the shape of the first input and ignore the others. Elements are propagated, except for the mean.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::family::arithmetic::{Op, fold};
use crate::family::broadcast;
use crate::family::elementwise::like_first;
use crate::fault::MISSING;
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(1, alike), since(8, all)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::MAX, ROWS).values(&[since(1, |cx| fold(cx, Op::Max))]),
    infer(op::MEAN, ROWS),
    infer(op::MIN, ROWS).values(&[since(1, |cx| fold(cx, Op::Min))]),
    infer(op::SUM, ROWS).values(&[since(1, |cx| fold(cx, Op::Add))]),
];

/// Before version 8, all inputs have one shape.
fn alike(cx: &mut Cx<'_, '_>) -> Outcome {
    for input in 1..cx.input_count() {
        cx.same_rank(0, input)?;
        if let (Ok(first), Ok(other)) = (cx.shape(0), cx.shape(input)) {
            for (&size, &other) in first.iter().zip(&other) {
                cx.agree(size, other, "a size of the inputs")?;
            }
        }
    }
    like_first(cx)
}

fn all(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.input_count() == 0 {
        return Err(cx.fail(&MISSING, "at least one input is needed"));
    }
    broadcast::all(cx)
}
