//! Recipe of `TopK`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TOP_K], top_k)];

fn top_k(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    let most = dims.get(axis)?.known().filter(|&size| size > 0)?;
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    let count = draft.smith.choices.int(1, most);
    if draft.schema.attribute(attr::K).is_some() {
        draft.set(attr::K, count);
        return Some(());
    }
    draft.vector(&[count])
}
