//! `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`: scores `[N, C, d…]` and classes `[N, d…]` give a loss for each
//! class, or one number of them all.
//!
//! Scores, classes and weights that do not fit are a fault. The reference compares them for the first of the two only, and
//! its weights from version 22 on.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const NEGATIVE_LOG_LIKELIHOOD_LOSS: OpRules =
    infer(op::NEGATIVE_LOG_LIKELIHOOD_LOSS, &[since(12, negative_log)]);
pub(super) const SOFTMAX_CROSS_ENTROPY_LOSS: OpRules =
    infer(op::SOFTMAX_CROSS_ENTROPY_LOSS, &[since(12, with_probabilities)]);

fn with_probabilities(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Ok(dims) = cx.shape(0) {
        cx.set_dims(1, dims);
    }
    let each = classes(cx)?;
    reduce(cx, each)
}

fn negative_log(cx: &mut Cx<'_, '_>) -> Outcome {
    let each = classes(cx)?;
    reduce(cx, each)
}

/// The result, of a loss for each class of that shape.
fn reduce(cx: &mut Cx<'_, '_>, each: Option<Dims>) -> Outcome {
    if cx.text(attr::REDUCTION)? == Some("none") {
        cx.set_shape(0, each.ok_or(Stop::Unknown)?);
    } else {
        cx.set_shape(0, []);
    }
    Ok(())
}

/// The shape of the classes, by what is known of them and of the scores.
fn classes(cx: &mut Cx<'_, '_>) -> Outcome<Option<Dims>> {
    let weights = cx.dims_of_rank(2, 1)?;
    let target = cx.shape(1).ok();
    let Ok(mut scores) = cx.shape(0) else { return Ok(target) };
    let rank = scores.len();
    if rank < 2 {
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the scores have rank {rank} where at least 2 is needed"))
        );
    }
    cx.same(at(&scores, 1), at(&weights, 0), "the numbers of classes and of their weights")?;
    scores.remove(1);
    let Some(target) = target else { return Ok(Some(scores)) };
    let found = target.len();
    if found != scores.len() {
        let message = format_args!("the scores have rank {rank} and the classes have rank {found}");
        return Err(cx.fail(&WRONG_RANK, message));
    }
    for (size, &other) in scores.iter_mut().zip(&target) {
        *size = cx.same(other, *size, "a size of the classes and of the scores")?;
    }
    Ok(Some(scores))
}
