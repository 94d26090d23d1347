//! `ArrayFeatureExtractor`: picks columns along the last axis; a vector counts as one row.
//!
//! The indices are taken in order whatever their shape is, so their number is the product of its sizes; the reference takes
//! the last size, and infers nothing for a vector.

use onnx_schema::{domain, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::ARRAY_FEATURE_EXTRACTOR, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let count = match cx.shape(1) {
        Ok(indices) => cx.product(&indices),
        Err(_) => Dim::Unknown,
    };
    if dims.pop().is_some() && dims.is_empty() {
        dims.push(Dim::Known(1));
    }
    dims.push(count);
    cx.set_dims(0, dims);
    Ok(())
}
