//! Recipe of `StringNormalizer`.

use onnx_schema::op;
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::STRING_NORMALIZER], string_normalizer)];

/// Some texts, or one row of them.
fn string_normalizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    let is_some = |dim: Option<&Dim>| dim.is_some_and(|dim| dim.known().is_some_and(|size| size > 0));
    draft.operand(
        |dims| {
            is_some(dims.last())
                && (dims.len() == 1 || (dims.len() == 2 && dims.first() == Some(&Dim::Known(1))))
        },
        |smith| {
            let count = Dim::Known(smith.choices.int(1, 4));
            if smith.choices.chance(50) { vec![count] } else { vec![Dim::Known(1), count] }
        },
    )?;
    Some(())
}
