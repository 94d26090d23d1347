//! Batches of values with channels, and their normalization.

use onnx_schema::attr;
use onnx_types::Dim;

use crate::draft::Draft;

/// A batch of something with channels.
pub(crate) fn channels(draft: &mut Draft<'_, '_>, least: usize) -> Option<Vec<Dim>> {
    draft.operand(
        |dims| {
            dims.len() >= least
                && dims.len() <= 5
                && dims.get(1).is_some_and(|dim| dim.known().is_some_and(|size| size > 0))
        },
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(1, 4)));
            let more = smith.choices.between(least.saturating_sub(2), 2);
            dims.extend(smith.dims(more));
            dims
        },
    )
}

pub(crate) fn layer_normalization(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axis = draft.smith.choices.below(dims.len());
    draft.set(attr::AXIS, i64::try_from(axis).ok()?);
    let rest = dims.get(axis..)?.to_vec();
    // The reference infers through a body that gives the result the type of the input, and the schema that of the scale.
    let elem = draft.ty(0)?.elem();
    draft.prefer(&[elem])?;
    draft.shaped(&rest)?;
    if draft.wants(50) {
        draft.shaped(&rest)?;
    }
    Some(())
}
