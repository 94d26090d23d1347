//! `Gradient`: the derivatives of a value by some of the inputs, each of the shape of that input.
//!
//! The inputs that are derived by come first. The reference infers nothing.

use onnx_schema::{attr, domain, op};

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::GRADIENT, &[since(1, rule)]).of(domain::PREVIEW_TRAINING);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let count = cx.texts(attr::XS)?.unwrap_or(0);
    for index in 0..count.min(cx.output_count()) {
        if let Ok(dims) = cx.shape(index) {
            cx.set_dims(index, dims);
        }
    }
    Ok(())
}
