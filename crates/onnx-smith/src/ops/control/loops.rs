//! Recipe of `Loop`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::family::bodies::tensor;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::LOOP], repetition)];

fn repetition(draft: &mut Draft<'_, '_>) -> Option<()> {
    // Every loop ends: it has a small trip count, or a condition that is false after the first round.
    let is_counted = draft.smith.choices.chance(80);
    if is_counted {
        let count = draft.smith.choices.int(0, 3);
        draft.scalar(count)?;
        if draft.smith.choices.chance(50) { draft.skip() } else { draft.scalar(1)? }
    } else {
        draft.skip();
        draft.scalar(1)?;
    }
    let mut inputs = vec![tensor(ElemType::Int64, &[]), tensor(ElemType::Bool, &[])];
    let carried = draft.smith.choices.below(3);
    for _ in 0..carried {
        draft.any()?;
        inputs.push(draft.declared(draft.count().checked_sub(1)?)?);
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    let condition = draft.smith.constant_in(ElemType::Bool, &[], &[i64::from(is_counted)])?;
    draft.smith.model.push_graph_output(body, condition);
    for ty in inputs.get(2..)? {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(body, value);
    }
    let scanned = draft.smith.choices.below(2).max(usize::from(carried == 0));
    for _ in 0..scanned {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.make(carried.checked_add(scanned)?);
    Some(())
}
