//! `FusedConv`: a convolution, plus an operand of the sizes of the result if one is given, and an activation.

use onnx_schema::onnxruntime::microsoft;

use crate::contrib::Row;
use crate::contrib::activation::Activation;
use crate::contrib::attributes::floats;
use crate::cx::{Cx, Outcome};
use crate::ops::nn::conv::conv;

pub(in crate::contrib) const KERNELS: &[Row] = &[(microsoft::FUSED_CONV, convolve)];

fn convolve(cx: &mut Cx<'_, '_>) -> Outcome {
    let activation = Activation::named(cx.text("activation")?, &floats(cx, "activation_params")?)?;
    let added = cx.optional(3)?;
    conv(cx)?;
    activation.finish(cx, added.as_ref())
}
