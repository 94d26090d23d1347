//! Recipe of `SequenceMap`.

use onnx_schema::{attr, op};
use onnx_types::TypeKind;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SEQUENCE_MAP], sequence_map)];

fn sequence_map(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let mut inputs = vec![draft.ty(0)?.inner()?.clone()];
    if draft.smith.choices.chance(40) {
        draft.any()?;
        let ty = draft.declared(1)?;
        // Of another sequence, the body gets the elements.
        inputs.push(ty.inner().filter(|_| matches!(ty.kind, TypeKind::Sequence(_))).cloned().unwrap_or(ty));
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    let count = draft.smith.choices.between(1, 2);
    for _ in 0..count {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.make(count);
    Some(())
}
