//! Folding of batch normalization into the weights of a convolution.

use onnx_ir::{Cursor, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, Tensor};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::patch::Patch;

/// Folds `BatchNormalization` in inference mode into the weights of the convolution before it.
pub fn fold_batch_normalization(cx: &mut PassCx<'_>) -> Report {
    let mut report = Report::default();
    let data = cx.options().data;
    let mut cursor = Cursor::all(cx.model());
    while let Some(node) = cursor.next(cx.model()) {
        let mut patch = cx.patch("fold-batch-normalization", Exactness::Rounding);
        if fold(&mut patch, node, data).is_some() {
            report.commit(patch);
        }
    }
    report
}

/// The statistics of a batch normalization, one number for each channel.
struct Statistics {
    scale: Vec<f64>,
    bias: Vec<f64>,
    mean: Vec<f64>,
    var: Vec<f64>,
}

impl Statistics {
    /// Reads the constants; `None` if they are not, or their lengths differ.
    fn read(patch: &mut Patch<'_, '_>, values: [ValueId; 4], data: &dyn DataSource) -> Option<Self> {
        let [scale, bias, mean, var] = values.map(|value| floats(&patch.constant(value)?, data));
        let (scale, bias, mean, var) = (scale?, bias?, mean?, var?);
        let channels = scale.len();
        let fits = channels > 0 && [&bias, &mean, &var].iter().all(|list| list.len() == channels);
        fits.then_some(Self { scale, bias, mean, var })
    }

    fn factors(&self, epsilon: f64) -> Vec<f64> {
        self.scale.iter().zip(&self.var).map(|(scale, var)| scale / (var + epsilon).sqrt()).collect()
    }
}

/// Prepares the patch for one node; `None` if the node is not of this form.
fn fold(patch: &mut Patch<'_, '_>, node: NodeId, data: &dyn DataSource) -> Option<()> {
    let model = patch.model();
    let norm = ops::BatchNormalization::of(model, node)?;
    // Versions before 14 have no training mode, but a run in training has more outputs.
    let is_inference = norm.training_mode().is_omitted() || norm.training_mode().known() == Some(0);
    let has_more = norm.call().node().outputs().iter().skip(1).any(Option::is_some);
    // Before version 9, the statistics can be those of each element.
    if !is_inference || has_more || norm.call().since() < 9 {
        return None;
    }
    let epsilon = f64::from(norm.epsilon().known()?);
    let producer = model.value(norm.x()?).producer()?;
    let conv = ops::Conv::of(model, producer)?;
    let (x, w, b) = (conv.x()?, conv.w()?, conv.b());
    let parameters = [norm.scale()?, norm.b()?, norm.input_mean()?, norm.input_var()?];
    let y = norm.call().output(0)?;
    patch.source(producer);
    patch.source(node);
    patch.tap(x);
    let weights = patch.constant(w)?;
    let old_bias = match b {
        Some(b) => Some(floats(&patch.constant(b)?, data)?),
        None => None,
    };
    let statistics = Statistics::read(patch, parameters, data)?;
    let factors = statistics.factors(epsilon);
    if old_bias.as_ref().is_some_and(|bias| bias.len() != factors.len()) {
        return None;
    }
    let new_weights = scaled(&weights, &factors, data)?;
    let mut new_bias = Vec::with_capacity(factors.len());
    let shifts = statistics.bias.iter().zip(&statistics.mean);
    for (channel, (factor, (bias, mean))) in factors.iter().zip(shifts).enumerate() {
        let old = old_bias.as_ref().and_then(|bias| bias.get(channel)).copied().unwrap_or(0.0);
        new_bias.push(((old - mean) * factor + bias) as f32);
    }
    if new_bias.iter().any(|number| !number.is_finite()) {
        return None;
    }
    let at = Position::Before(node);
    let new_weights = patch.new_constant(at, new_weights).ok()?;
    let new_bias = patch.new_constant(at, Tensor::vector(&new_bias)).ok()?;
    let outputs = patch.like(producer, at, &[Some(x), Some(new_weights), Some(new_bias)]).ok()?;
    patch.replace(y, outputs.first().copied().flatten()?);
    Some(())
}

fn floats(tensor: &Tensor, data: &dyn DataSource) -> Option<Vec<f64>> {
    let is_list = tensor.elem() == ElemType::Float && tensor.rank() == 1;
    is_list.then(|| tensor.iter_f64(data).ok().map(Iterator::collect)).flatten()
}

/// The weights with each output channel multiplied by its factor; `None` if a product is not finite.
fn scaled(weights: &Tensor, factors: &[f64], data: &dyn DataSource) -> Option<Tensor> {
    let elements = weights.to_vec::<f32>(data).ok()?;
    if usize::try_from(*weights.dims().first()?).ok()? != factors.len() {
        return None;
    }
    let per_channel = elements.len().checked_div(factors.len())?;
    let mut scaled = Vec::with_capacity(elements.len());
    for (channel, &factor) in elements.chunks(per_channel.max(1)).zip(factors) {
        scaled.extend(channel.iter().map(|&element| (f64::from(element) * factor) as f32));
    }
    if scaled.len() != elements.len() || scaled.iter().any(|number| !number.is_finite()) {
        return None;
    }
    Tensor::from_slice(weights.dims().iter().copied(), &scaled).ok()
}
