//! `CumProd`, `CumSum`: sums and products of the elements up to each one along an axis; the shape stays.
//!
//! As in the reference, a constant axis that is out of range is not a fault here. Elements are propagated in vectors;
//! those of floats only while they are integers, because the result for others depends on the order of the additions.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::arithmetic::{Op, join};
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::CUM_PROD, &[since(26, along_axis)]).values(&[since(26, |cx| scan(cx, Op::Mul, 1))]),
    infer(op::CUM_SUM, &[since(11, along_axis)]).values(&[since(11, |cx| scan(cx, Op::Add, 0))]),
];

fn along_axis(cx: &mut Cx<'_, '_>) -> Outcome {
    if let (Ok(rank), Ok(Dim::Known(axis))) = (cx.rank(0), cx.scalar(1)) {
        cx.axis(axis, rank)?;
    }
    like_first(cx)
}

fn scan(cx: &mut Cx<'_, '_>, op: Op, neutral: i64) -> Outcome {
    let elem = cx.elem(0)?;
    let is_exclusive = cx.int_or(attr::EXCLUSIVE, 0)? != 0;
    let is_reverse = cx.int_or(attr::REVERSE, 0)? != 0;
    if cx.rank(0)? != 1 {
        return Err(Stop::Unknown);
    }
    let content = cx.content(0).ok_or(Stop::Unknown)?;
    let mut elems: Vec<Elem> = content.to_vec();
    if is_reverse {
        elems.reverse();
    }
    let mut so_far = Elem::Int(Dim::Known(neutral));
    for slot in &mut elems {
        let value = if matches!(slot, Elem::Int(_)) { *slot } else { Elem::Unknown };
        let before = so_far;
        so_far = join(cx, elem, op, so_far, value);
        *slot = if is_exclusive { before } else { so_far };
    }
    if is_reverse {
        elems.reverse();
    }
    cx.set_content(0, elems);
    Ok(())
}
