//! `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`: the negated score of the target class, weighted by the class.
//!
//! A target that equals `ignore_index` contributes nothing, whatever the scores are: its loss and its weight are 0.
//! Losses of 16-bit floats are added in `float`, so that sums do not overflow. The reference adds them in the element
//! type, and reshapes the scores with a size of -1 for the softmax, which does not work without elements.

use onnx_ir::Attribute;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::bodies::draft::{Draft, Made, V};
use crate::bodies::ops::math::softmax::log_softmax;

pub(in crate::bodies) fn likelihood(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let scores = draft.input(0)?;
    Ok(vec![loss(draft, scores)?])
}

pub(in crate::bodies) fn cross_entropy(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let scores = draft.input(0)?;
    let probabilities = log_softmax(draft, scores, 1)?;
    Ok(vec![loss(draft, probabilities)?, probabilities])
}

/// The loss of the logarithms of probabilities, by target and weight, which are the second and third operand.
fn loss(draft: &mut Draft<'_>, x: V) -> Made {
    let (target, weights) = (draft.input(1)?, draft.optional(2));
    let elem = draft.elem(0)?;
    let is_narrow = matches!(elem, ElemType::Float16 | ElemType::Bfloat16);
    let wide = if is_narrow { ElemType::Float } else { elem };
    let (target, is_ignored) = safe_target(draft, target)?;

    let column = draft.unsqueeze(target, &[1])?;
    let chosen = draft.op(op::GATHER_ELEMENTS, &[x, column], vec![Attribute::new(attr::AXIS, 1_i64)])?;
    let chosen = draft.squeeze(chosen, &[1])?;
    let chosen = draft.cast(chosen, elem, wide)?;
    let mut losses = draft.neg(chosen)?;
    let mut weight = match weights {
        Some(weights) => {
            let weight = draft.gather(weights, target, 0)?;
            let weight = draft.cast(weight, elem, wide)?;
            losses = draft.mul(losses, weight)?;
            Some(weight)
        }
        None => None,
    };
    if let Some(is_ignored) = is_ignored {
        let (zero, one) = (draft.number(wide, 0.0)?, draft.number(wide, 1.0)?);
        losses = draft.select(is_ignored, zero, losses)?;
        weight = Some(draft.select(is_ignored, zero, weight.unwrap_or(one))?);
    }
    let loss = match draft.text(attr::REDUCTION)?.as_str() {
        "none" => losses,
        "sum" => draft.reduce_all(op::REDUCE_SUM, losses)?,
        "mean" => match weight {
            None => draft.reduce_all(op::REDUCE_MEAN, losses)?,
            Some(weight) => {
                let sum = draft.reduce_all(op::REDUCE_SUM, losses)?;
                let all = draft.reduce_all(op::REDUCE_SUM, weight)?;
                draft.div(sum, all)?
            }
        },
        _ => return Err(draft.wrong(attr::REDUCTION, "names no reduction")),
    };
    draft.cast(loss, wide, elem)
}

/// The targets, with class 0 for ignored ones, and the mask of ignored targets; `None` if no target is ignored.
fn safe_target(draft: &mut Draft<'_>, target: V) -> Made<(V, Option<V>)> {
    let Some(ignored) = draft.optional_int(attr::IGNORE_INDEX)? else { return Ok((target, None)) };
    let elem = draft.elem(1)?;
    if elem == ElemType::Int32 && i32::try_from(ignored).is_err() {
        // No target has this value.
        return Ok((target, None));
    }
    let ignored = match elem {
        ElemType::Int64 => draft.int64(ignored)?,
        // All values of the type are numbers of `f64`.
        _ => draft.number(elem, ignored as f64)?,
    };
    let zero = draft.number(elem, 0.0)?;
    let is_ignored = draft.equal(target, ignored)?;
    Ok((draft.select(is_ignored, zero, target)?, Some(is_ignored)))
}
