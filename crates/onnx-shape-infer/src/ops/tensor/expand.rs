//! `Expand`: the shape that the input and a given shape broadcast to.
//!
//! The given shape must have at most one axis, and no negative size; where only its length is known, the rank is.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise::repeat_first;
use crate::fault::{MISSING, NO_BROADCAST, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::EXPAND, &[since(8, expand)]).values(&[since(8, repeat_first)]);

fn expand(cx: &mut Cx<'_, '_>) -> Outcome {
    if !cx.has_input(1) {
        return Err(cx.fail(&MISSING, "input `shape` is missing"));
    }
    if cx.rank(1).is_ok_and(|rank| rank != 1) {
        return Err(cx.fail(&WRONG_RANK, "the given shape must be a vector"));
    }
    let mut wanted = cx.elements(1)?.ok_or(Stop::Unknown)?;
    for size in &mut wanted {
        match *size {
            Dim::Known(size) if size < 0 => {
                return Err(cx.fail(&NO_BROADCAST, format_args!("the given shape has the size {size}")));
            }
            other if !cx.is_size(other) => *size = Dim::Unknown,
            _ => {}
        }
    }
    let dims = cx.shape(0)?;
    let dims = cx.broadcast(&dims, &wanted)?;
    cx.set_dims(0, dims);
    Ok(())
}
