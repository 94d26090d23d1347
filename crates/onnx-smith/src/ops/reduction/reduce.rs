//! Recipe of `ReduceL1`, `ReduceL2`, `ReduceLogSum`, `ReduceLogSumExp`, `ReduceMax`, `ReduceMean`, `ReduceMin`,
//! `ReduceProd`, `ReduceSum` and `ReduceSumSquare`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(
    &[
        op::REDUCE_L1,
        op::REDUCE_L2,
        op::REDUCE_LOG_SUM,
        op::REDUCE_LOG_SUM_EXP,
        op::REDUCE_MAX,
        op::REDUCE_MEAN,
        op::REDUCE_MIN,
        op::REDUCE_PROD,
        op::REDUCE_SUM,
        op::REDUCE_SUM_SQUARE,
    ],
    reduce,
)];

fn reduce(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    if !draft.smith.choices.chance(70) {
        draft.leave(&[attr::AXES]);
        return Some(());
    }
    let axes = draft.axes(dims.len());
    draft.ints(attr::AXES, &axes)
}
