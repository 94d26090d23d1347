//! `Adagrad`, `Adam` and `Momentum`: one step for several tensors.
//!
//! The rate and the count of steps come first, then all tensors, all gradients, and all of each kind of state. The outputs
//! are the new tensors, then the new states, each of the type of the old one; none may be left out at the end.

use onnx_schema::{domain, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BODY_ARITY, MISSING};
use crate::registry::{OpRules, infer, since};

pub(super) const ADAGRAD: OpRules =
    infer(op::ADAGRAD, &[since(1, |cx| step(cx, 1, false))]).of(domain::PREVIEW_TRAINING);
pub(super) const ADAM: OpRules =
    infer(op::ADAM, &[since(1, |cx| step(cx, 2, true))]).of(domain::PREVIEW_TRAINING);
pub(super) const MOMENTUM: OpRules =
    infer(op::MOMENTUM, &[since(1, |cx| step(cx, 1, true))]).of(domain::PREVIEW_TRAINING);

/// `states` is the number of states of each tensor; `counted` is `true` if the reference refuses a number of inputs
/// that is not a multiple of what one tensor needs.
fn step(cx: &mut Cx<'_, '_>, states: usize, counted: bool) -> Outcome {
    let given = cx.input_count().saturating_sub(2);
    let each = states.saturating_add(2);
    let is_whole = given.is_multiple_of(each);
    if !is_whole && counted {
        return Err(cx.fail(&BODY_ARITY, format_args!("{given} tensors are given where each needs {each}")));
    }
    let tensors = given.checked_div(each).unwrap_or_default();
    let (needed, outputs) = (tensors.saturating_mul(states.saturating_add(1)), cx.output_count());
    if outputs < needed {
        return Err(cx.fail(&MISSING, format_args!("there are {outputs} outputs where {needed} are needed")));
    }
    if !is_whole {
        return Err(Stop::Unknown);
    }
    for output in 0..needed {
        // The gradients are between the tensors and their states.
        let skipped = if output < tensors { 0 } else { tensors };
        cx.copy_ty(output.saturating_add(skipped).saturating_add(2), output);
    }
    Ok(())
}
