//! Recipe of `ArrayFeatureExtractor`.

use onnx_schema::op;

use crate::draft::Draft;
use crate::family::indices::data;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ARRAY_FEATURE_EXTRACTOR], features)];

fn features(draft: &mut Draft<'_, '_>) -> Option<()> {
    data(draft, 3)?;
    let count = draft.smith.choices.between(1, 3);
    draft.constant(&[1, i64::try_from(count).ok()?], &vec![0; count])
}
