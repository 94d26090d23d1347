//! The pass `folded-batch-normalization`: batch normalization becomes part of the weights of the convolution before it.

use onnx_ir::{NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_schema::op;
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "folded-batch-normalization";

pub(super) fn pass() -> Pass {
    let summary = "Folds batch normalization into the weights of the convolution before it.";
    Pass::new(NAME, summary, Exactness::Rounding, folded_batch_normalization)
        .with_page(include_str!("folded_batch_normalization.md"))
}

/// Folds `BatchNormalization` in inference mode into the weights of the convolution before it. The report has the reason for
/// each `BatchNormalization` that remains.
pub fn folded_batch_normalization(cx: &mut PassCx<'_>) -> Report {
    cx.rewrite(NAME, Exactness::Rounding, op::BATCH_NORMALIZATION, fold)
}

/// The operands of a convolution and of the batch normalization that follows it.
struct Operands {
    conv: NodeId,
    x: ValueId,
    weights: ValueId,
    bias: Option<ValueId>,
    /// Scale, bias, mean and variance.
    parameters: [ValueId; 4],
    epsilon: f64,
    y: ValueId,
}

/// The operands of a batch normalization after a convolution; the reason if the node is not of this form.
fn matched(patch: &Patch<'_, '_>, node: NodeId) -> Result<Operands, Reason> {
    let model = patch.model();
    let norm = ops::BatchNormalization::of(model, node).ok_or("it is gone")?;
    // Versions before 14 have no training mode, but a run in training has more outputs.
    let is_inference = norm.training_mode().is_omitted() || norm.training_mode().known() == Some(0);
    let has_more = norm.call().node().outputs().iter().skip(1).any(Option::is_some);
    if !is_inference || has_more {
        return Err("it is in training mode".into());
    }
    // Before version 9, the statistics can be those of each element.
    if norm.call().since() < 9 {
        return Err("its version can normalize each element separately".into());
    }
    let missing = || Reason::from("an operand or attribute is missing");
    let producer = norm.x().and_then(|x| model.value(x).producer());
    let conv = producer.and_then(|producer| ops::Conv::of(model, producer));
    let conv = conv.ok_or("its input is not the result of a `Conv`")?;
    if norm.x().and_then(|x| model.sole_consumer(x)).is_none() {
        return Err("other nodes use the result of the convolution".into());
    }
    let parameters = [norm.scale(), norm.b(), norm.input_mean(), norm.input_var()];
    let [Some(scale), Some(bias), Some(mean), Some(var)] = parameters else { return Err(missing()) };
    Ok(Operands {
        conv: conv.call().id(),
        x: conv.x().ok_or_else(missing)?,
        weights: conv.w().ok_or_else(missing)?,
        bias: conv.b(),
        parameters: [scale, bias, mean, var],
        epsilon: f64::from(norm.epsilon().known().ok_or_else(missing)?),
        y: norm.call().output(0).ok_or_else(missing)?,
    })
}

/// Prepares the patch for one node.
fn fold(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let operands = matched(patch, node)?;
    patch.source(operands.conv);
    patch.tap(operands.x);
    let weights = patch.try_constant(operands.weights)?;
    let channels = weights.dims().first().and_then(|&size| usize::try_from(size).ok());
    let [scale, bias, mean, var] = operands.parameters.map(|value| floats(patch, value, channels));
    let (scale, bias, mean, var) = (scale?, bias?, mean?, var?);
    let old_bias = match operands.bias {
        Some(bias) => floats(patch, bias, channels)?,
        None => vec![0.0; scale.len()],
    };
    let factors: Vec<f64> =
        scale.iter().zip(&var).map(|(scale, var)| scale / (var + operands.epsilon).sqrt()).collect();
    let new_weights = scaled(&weights, &factors)?;
    let shifts = factors.iter().zip(&old_bias).zip(bias.iter().zip(&mean));
    let new_bias: Vec<f32> =
        shifts.map(|((factor, old), (bias, mean))| ((old - mean) * factor + bias) as f32).collect();
    if new_bias.iter().any(|number| !number.is_finite()) {
        return Err(Reason::new("the new bias is not finite"));
    }
    let at = Position::Before(node);
    let new_weights = patch.new_constant(at, new_weights)?;
    let new_bias = patch.new_constant(at, Tensor::vector(&new_bias))?;
    let new_operands = [Some(operands.x), Some(new_weights), Some(new_bias)];
    let outputs = patch.like(operands.conv, at, &new_operands)?;
    let new = outputs.first().copied().flatten().ok_or("the convolution has no output")?;
    patch.replace(operands.y, new);
    Ok(())
}

/// The elements of a constant with one `float` for each channel.
fn floats(patch: &mut Patch<'_, '_>, value: ValueId, channels: Option<usize>) -> Result<Vec<f64>, Reason> {
    let tensor = patch.try_constant(value)?;
    let is_list = tensor.elem() == ElemType::Float && tensor.rank() == 1;
    let list: Option<Vec<f64>> =
        is_list.then(|| tensor.iter_f64(&NoData).ok().map(Iterator::collect)).flatten();
    let list = list.filter(|list| !list.is_empty() && Some(list.len()) == channels);
    list.ok_or_else(|| Reason::new("a parameter is not a list with one `float` for each channel"))
}

/// The weights with each output channel multiplied by its factor.
fn scaled(weights: &Tensor, factors: &[f64]) -> Result<Tensor, Reason> {
    let wrong = || Reason::new("the weights are not of type `float`");
    let elements = weights.to_vec::<f32>(&NoData).map_err(|_| wrong())?;
    let per_channel = elements.len().checked_div(factors.len()).unwrap_or(0);
    let mut scaled = Vec::with_capacity(elements.len());
    for (channel, &factor) in elements.chunks(per_channel.max(1)).zip(factors) {
        scaled.extend(channel.iter().map(|&element| (f64::from(element) * factor) as f32));
    }
    if scaled.len() != elements.len() || scaled.iter().any(|number| !number.is_finite()) {
        return Err(Reason::new("the new weights are not finite"));
    }
    Tensor::from_slice(weights.dims().iter().copied(), &scaled).map_err(|_| wrong())
}
