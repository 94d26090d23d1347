//! `StringSplit`: the parts of each text along a new last axis, and how many there are of each.
//!
//! The new axis is as long as the longest split, at run time. The element types are given without a shape, too, where the
//! reference says nothing.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::STRING_SPLIT, &[since(20, split)]);

fn split(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    cx.set_shape(1, dims.clone());
    dims.push(Dim::Unknown);
    cx.set_dims(0, dims);
    Ok(())
}
