//! `OneHotEncoder`: a new last axis with one place for each category.

use onnx_schema::{attr, domain, op};

use super::size;
use crate::cx::{Cx, Outcome};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::ONE_HOT_ENCODER, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let texts = cx.texts(attr::CATS_STRINGS)?.unwrap_or(0);
    let ints = cx.ints(attr::CATS_INT64S)?.map_or(0, <[i64]>::len);
    if (texts > 0) == (ints > 0) {
        return Err(cx.fail(&BAD_ATTRIBUTE, "the categories must be either texts or integers"));
    }
    let mut dims = cx.shape(0)?;
    dims.push(size(texts.max(ints)));
    cx.set_dims(0, dims);
    Ok(())
}
