//! Reductions along axes.

pub(super) mod arg;
pub(super) mod reduce;

use onnx_schema::attr;

use crate::cx::{Cx, Outcome, Stop};

/// Whether reduced axes stay, with the size 1. Nothing says what a number other than 0 and 1 means: the reference and
/// runtimes remove the axes.
fn keeps_axes(cx: &mut Cx<'_, '_>) -> Outcome<bool> {
    match cx.int_or(attr::KEEPDIMS, 1)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Stop::Unknown),
    }
}
