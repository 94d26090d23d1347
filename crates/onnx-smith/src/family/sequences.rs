//! A sequence with the index of an element.

use crate::draft::Draft;

pub(crate) fn sequence_at(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    draft.scalar(0)
}
