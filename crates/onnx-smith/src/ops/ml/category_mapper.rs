//! Recipe of `CategoryMapper`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::samples::WORDS;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CATEGORY_MAPPER], category_mapper)];

fn category_mapper(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    draft.set_strings(attr::CATS_STRINGS, WORDS);
    draft.set(attr::CATS_INT64S, [0, 1, 2]);
    Some(())
}
