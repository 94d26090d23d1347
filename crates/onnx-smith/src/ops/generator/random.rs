//! Recipes of `Multinomial`, `RandomNormal` and `RandomUniform`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::MULTINOMIAL], multinomial), row(&[op::RANDOM_NORMAL, op::RANDOM_UNIFORM], random)];

fn multinomial(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(2, 2).map(drop)
}

fn random(draft: &mut Draft<'_, '_>) -> Option<()> {
    let sizes: Vec<i64> = (0..draft.smith.choices.below(4)).map(|_| draft.smith.choices.int(0, 4)).collect();
    draft.set(attr::SHAPE, sizes);
    Some(())
}
