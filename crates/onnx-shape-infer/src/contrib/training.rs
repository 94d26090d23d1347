//! Dropout fused with what precedes it, and checks of gradients.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::both_like_first;
use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::Dims;

pub(super) const RULES: &[OpRules] = &[
    infer(microsoft::BIAS_DROPOUT, &[since(1, both_like_first)]),
    infer(microsoft::BITMASK_BIAS_DROPOUT, &[since(1, with_bits)]),
    infer(microsoft::BITMASK_DROPOUT, &[since(1, with_bits)]),
    infer(microsoft::IS_ALL_FINITE, &[since(1, scalar)]),
];

/// The mask has a bit for each element, in words of 32.
fn with_bits(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)?;
    let dims = cx.shape(0)?;
    let count = cx.product(&dims);
    let words = cx.dims().ceil_div(count, Dim::Known(32));
    cx.set_shape(1, [words]);
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "it has the type of rules")]
fn scalar(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_dims(0, Dims::new());
    Ok(())
}
