//! Reductions over axes, which early versions name in an attribute and later ones in an operand.

use onnx_schema::{attr, op};

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(
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
    ),
    row(&[op::MEAN_VARIANCE_NORMALIZATION], mean_variance),
    row(&[op::ARG_MAX, op::ARG_MIN], arg),
];

fn reduce(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = draft.of_rank(1, 4)?;
    if !draft.smith.choices.chance(70) {
        draft.leave(&[attr::AXES]);
        return Some(());
    }
    let axes = draft.axes(dims.len());
    draft.ints(attr::AXES, &axes)
}

fn mean_variance(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The reference's body of the operator knows floats only, and does not fill in the default of the axes.
    draft.prefer(&[onnx_types::ElemType::Float])?;
    let dims = draft.of_rank(1, 4)?;
    let axes = draft.axes(dims.len());
    draft.set(attr::AXES, axes);
    Some(())
}

fn arg(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.operand(
        |dims| !dims.is_empty() && dims.iter().all(|dim| dim.known().is_some_and(|size| size > 0)),
        |smith| {
            (0..smith.choices.between(1, 3))
                .map(|_| onnx_types::Dim::Known(smith.choices.int(1, 4)))
                .collect()
        },
    )?;
    let axis = draft.axis()?;
    draft.set(attr::AXIS, axis);
    Some(())
}
