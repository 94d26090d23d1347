//! Recipe of `Scan`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SCAN], scan)];

fn scan(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The first version has a batch in front, and takes lengths.
    let is_batched = draft.since() < 9;
    let lead = 1 + usize::from(is_batched);
    if is_batched {
        draft.skip();
    }
    let batch = Dim::Known(2);
    let states = draft.smith.choices.below(2);
    let mut inputs = Vec::new();
    for _ in 0..states {
        let inner = draft.smith.dims(1);
        let dims: Vec<Dim> = is_batched.then_some(batch).into_iter().chain(inner.iter().copied()).collect();
        draft.shaped(&dims)?;
        inputs.push(draft.declared_without(usize::from(is_batched))?);
    }
    let length = draft.smith.dims(1);
    let scans = draft.smith.choices.between(1, 2);
    for _ in 0..scans {
        let rank = draft.smith.choices.below(3);
        let inner = draft.smith.dims(rank);
        let front = is_batched.then_some(batch).into_iter().chain(length.iter().copied());
        let dims: Vec<Dim> = front.chain(inner.iter().copied()).collect();
        draft.shaped(&dims)?;
        inputs.push(draft.declared_without(lead)?);
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    for ty in inputs.get(..states)? {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(body, value);
    }
    let outputs = draft.smith.choices.between(usize::from(states == 0), 2);
    for _ in 0..outputs {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.set(attr::NUM_SCAN_INPUTS, i64::try_from(scans).ok()?);
    let directions = |draft: &mut Draft<'_, '_>, count: usize| -> Vec<i64> {
        (0..count).map(|_| draft.smith.choices.int(0, 1)).collect()
    };
    if draft.smith.choices.chance(30) {
        let values = directions(draft, scans);
        draft.set(attr::SCAN_INPUT_DIRECTIONS, values.clone());
        draft.set(attr::DIRECTIONS, values);
    }
    if outputs > 0 && draft.smith.choices.chance(30) {
        let values = directions(draft, outputs);
        draft.set(attr::SCAN_OUTPUT_DIRECTIONS, values);
    }
    draft.make(states.checked_add(outputs)?);
    Some(())
}
