//! Recipe of `FeatureVectorizer`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::FEATURE_VECTORIZER], feature_vectorizer)];

fn feature_vectorizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    let front = *draft.smith.dims(1).first()?;
    let count = draft.smith.choices.between(1, 3);
    let mut widths = Vec::new();
    for _ in 0..count {
        let width = draft.smith.choices.int(1, 3);
        draft.shaped(&[front, Dim::Known(width)])?;
        widths.push(width);
    }
    draft.set(attr::INPUTDIMENSIONS, widths);
    Some(())
}
