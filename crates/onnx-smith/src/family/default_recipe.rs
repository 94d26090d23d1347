//! The recipe of operators without a specific one.

use crate::draft::Draft;

/// Gives the first tensor any sizes; of the others, some have the same, some are scalars, and some have any.
pub(crate) fn recipe(draft: &mut Draft<'_, '_>) -> Option<()> {
    let least = draft.schema.min_inputs();
    let most = draft.schema.max_inputs().unwrap_or(least.max(1) + 2);
    let mut first: Option<Vec<onnx_types::Dim>> = None;
    while draft.count() < most {
        let formal = draft.formal()?;
        if draft.count() >= least
            && draft.schema.allows_inputs(draft.count())
            && !draft.smith.choices.chance(40)
        {
            break;
        }
        if formal.is_optional() && draft.smith.choices.chance(30) {
            draft.skip();
            continue;
        }
        let dims = match &first {
            None => draft.any()?,
            Some(first) => follow(draft, first)?,
        };
        first.get_or_insert(dims);
    }
    Some(())
}

fn follow(draft: &mut Draft<'_, '_>, first: &[onnx_types::Dim]) -> Option<Vec<onnx_types::Dim>> {
    match draft.smith.choices.below(8) {
        0 => draft.of_rank(0, 0),
        1 => draft.of_rank(1, 1),
        2 => draft.any(),
        _ => draft.shaped(first).map(|()| first.to_vec()),
    }
}
