//! Recipe of `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`.

use onnx_schema::{attr, op};

use crate::draft::Draft;
use crate::family::channels::channels;
use crate::family::sizes::numbers;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::NEGATIVE_LOG_LIKELIHOOD_LOSS, op::SOFTMAX_CROSS_ENTROPY_LOSS], loss)];

fn loss(draft: &mut Draft<'_, '_>) -> Option<()> {
    let dims = channels(draft, 2)?;
    let sizes = numbers(&dims)?;
    let mut target = sizes;
    target.remove(1);
    let count =
        target.iter().try_fold(1_i64, |all, &size| all.checked_mul(size)).filter(|&count| count < 512)?;
    draft.constant(&target, &vec![0; usize::try_from(count).ok()?])?;
    draft.leave(&[attr::IGNORE_INDEX]);
    if draft.wants(40) {
        draft.shaped(&[*dims.get(1)?])?;
    }
    Some(())
}
