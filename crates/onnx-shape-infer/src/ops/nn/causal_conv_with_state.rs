//! `CausalConvWithState`: a convolution along the last axis of `[B, C, L]`, one kernel `[C, 1, k]` for each channel, that
//! sees the `k - 1` elements before as a state `[B, C, k - 1]`, and gives the last ones as the next state.

use onnx_diag::Quoted;
use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::window::not_negative;
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::CAUSAL_CONV_WITH_STATE, &[since(27, convolve)]);

fn convolve(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(activation) = cx.text(attr::ACTIVATION)?
        && !["none", "silu", "swish"].contains(&activation)
    {
        let message = format_args!("attribute `activation` is {}", Quoted(activation));
        return Err(cx.fail(&BAD_ATTRIBUTE, message));
    }
    let input = cx.dims_of_rank(0, 3)?;
    let weights = cx.dims_of_rank(1, 3)?;
    let bias = cx.dims_of_rank(2, 1)?;
    let state = cx.dims_of_rank(3, 3)?;
    if [0, 1, 3].into_iter().all(|index| cx.shape(index).is_err()) {
        return Err(Stop::Unknown);
    }
    cx.same(at(&weights, 1), Dim::Known(1), "the channels that each kernel sees")?;
    let mut channels = at(&input, 1);
    for other in [at(&weights, 0), at(&bias, 0), at(&state, 1)] {
        channels = cx.same(channels, other, "the channels of the inputs")?;
    }
    let batch = cx.same(at(&input, 0), at(&state, 0), "the batch sizes of the input and of the state")?;
    let before = cx.dims().sub(at(&weights, 2), Dim::Known(1));
    let before = not_negative(cx, before)?;
    let before = cx.same(at(&state, 2), before, "the sizes of the state and of a kernel less one")?;
    cx.set_shape(0, [batch, channels, at(&input, 2)]);
    cx.set_shape(1, [batch, channels, before]);
    Ok(())
}
