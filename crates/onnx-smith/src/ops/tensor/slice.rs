//! Recipe of `Slice`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SLICE], slice)];

fn slice(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    let starts: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(0, 2)).collect();
    let ends: Vec<i64> = starts.iter().map(|start| draft.smith.choices.int(start + 1, start + 3)).collect();
    if draft.since() < 10 {
        draft.set(attr::STARTS, starts);
        draft.set(attr::ENDS, ends);
        draft.set(attr::AXES, axes);
        return Some(());
    }
    draft.prefer(&[ElemType::Int64, ElemType::Int32])?;
    draft.vector(&starts)?;
    draft.vector(&ends)?;
    draft.vector(&axes)?;
    if draft.wants(40) {
        let steps: Vec<i64> = axes.iter().map(|_| draft.smith.choices.int(1, 2)).collect();
        draft.vector(&steps)?;
    }
    Some(())
}
