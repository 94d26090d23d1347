//! Two operands that broadcast to each other.

use onnx_schema::{attr, op};

use crate::draft::Draft;

pub(crate) fn binary(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.any()?;
    if draft.schema.op() == op::MOD {
        let is_float = draft.ty(0).is_some_and(|ty| ty.elem().is_float());
        draft.set(attr::FMOD, i64::from(is_float));
    }
    // Until version 6, an attribute specifies whether the second input broadcasts to the first.
    if draft.schema.attribute(attr::BROADCAST).is_some() {
        draft.leave(&[attr::BROADCAST, attr::AXIS]);
        if draft.smith.choices.chance(60) {
            return draft.shaped(&dims);
        }
        draft.set(attr::BROADCAST, 1_i64);
        let start = draft.smith.choices.below(dims.len().saturating_add(1));
        return draft.shaped(dims.get(start..)?);
    }
    if draft.since() < 7 && draft.schema.domain().is_empty() && draft.schema.op() != op::P_RELU {
        return draft.shaped(&dims);
    }
    let found = draft.partner(&dims)?;
    debug_assert!(found.len() <= dims.len(), "a partner broadcasts to the first operand");
    Some(())
}
