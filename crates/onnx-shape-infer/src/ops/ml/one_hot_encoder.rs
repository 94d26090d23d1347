//! `OneHotEncoder`: a new last axis with one place for each category.
//!
//! One of the two lists is defined; it can be empty.

use onnx_schema::{attr, domain, op};

use super::size;
use crate::cx::{Cx, Outcome};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::ONE_HOT_ENCODER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let texts = cx.texts(attr::CATS_STRINGS)?;
    let ints = cx.ints(attr::CATS_INT64S)?.map(<[i64]>::len);
    let ((Some(count), None) | (None, Some(count))) = (texts, ints) else {
        return Err(cx.fail(&BAD_ATTRIBUTE, "the categories must be either texts or integers"));
    };
    let mut dims = cx.shape(0)?;
    dims.push(size(count));
    cx.set_dims(0, dims);
    Ok(())
}
