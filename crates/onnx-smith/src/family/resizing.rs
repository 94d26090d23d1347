//! Tensors that are resized, by scales or to sizes.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::draft::Draft;

pub(crate) fn resize(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.operand(
        |dims| {
            (1..=4).contains(&dims.len()) && dims.iter().all(|dim| dim.known().is_some_and(|size| size > 0))
        },
        |smith| (0..smith.choices.between(2, 4)).map(|_| Dim::Known(smith.choices.int(1, 4))).collect(),
    )?;
    draft.leave(&[
        attr::AXES,
        attr::KEEP_ASPECT_RATIO_POLICY,
        attr::COORDINATE_TRANSFORMATION_MODE,
        attr::ANTIALIAS,
        attr::EXCLUDE_OUTSIDE,
        attr::MODE,
    ]);
    if draft.schema.attribute(attr::MODE).is_some_and(|formal| formal.is_required) {
        draft.set(attr::MODE, "nearest");
    }
    if draft.schema.attribute(attr::WIDTH_SCALE).is_some() {
        draft.set(attr::WIDTH_SCALE, 2.0_f32);
        draft.set(attr::HEIGHT_SCALE, 2.0_f32);
        return Some(());
    }
    let scales: Vec<i64> = dims.iter().map(|_| draft.smith.choices.int(1, 2)).collect();
    if draft.schema.attribute(attr::SCALES).is_some() {
        draft.set(attr::SCALES, scales.iter().map(|&scale| scale as f32).collect::<Vec<f32>>());
        return Some(());
    }
    if draft.schema.op() == op::UPSAMPLE || draft.since() < 11 {
        return draft.vector(&scales);
    }
    // The first version with sizes takes empty operands for those that are left out.
    if draft.since() < 13 {
        draft.prefer(&[ElemType::Float])?;
        draft.vector(&[])?;
        return draft.vector(&scales);
    }
    draft.skip();
    if draft.smith.choices.chance(50) {
        return draft.vector(&scales);
    }
    draft.skip();
    let sizes: Option<Vec<i64>> = dims
        .iter()
        .zip(&scales)
        .map(|(dim, scale)| dim.known().and_then(|size| size.checked_mul(*scale)))
        .collect();
    draft.vector(&sizes?)
}
