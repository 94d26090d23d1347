//! Correction of biases: rounding a weight moves the mean of an output channel, and the bias takes that back.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_compose::Scales;
use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use super::calibrate::{CalibrateError, Runs, observe};
use super::plan::{Candidate, Plan};
use super::{StaticReport, Stay, Work};
use crate::edits::add_constant;
use crate::measure::{MeasureOptions, MeasuredOutput, least_ratio, measure_each};
use crate::samples::Samples;
use crate::weights::{QuantizeError, dense_constant};

/// What a correction of biases did.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Correction {
    /// Number of biases of which it is known what rounding of the weights adds to their channels.
    pub biases: usize,
    /// The least ratio of signal to noise of the outputs without the correction, in decibels.
    pub before: f64,
    /// The ratio with the correction.
    pub after: f64,
}

impl Correction {
    /// Whether the outputs are closer to those before with the correction: otherwise, the biases are as they were.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        self.after > self.before
    }
}

/// An operator with a constant weight, and where its bias is.
struct Place {
    node: NodeId,
    operand: ValueId,
    bias: (NodeId, usize),
}

impl Place {
    /// The place of an operator with its own scales.
    fn of(model: &Model, candidate: &Candidate) -> Option<Self> {
        Self::find(model, candidate).filter(|_| candidate.scales == Scales::Own)
    }

    fn mean(&self, model: &Model) -> MeanOf {
        let record = model.node(self.node);
        let is_conv = record.is(op::CONV) || record.is(op::CONV_TRANSPOSE);
        MeanOf { operand: self.operand, is_conv }
    }

    /// The place of a candidate; `None` without a weight, or if something else than a vector is added to its channels.
    fn find(model: &Model, candidate: &Candidate) -> Option<Self> {
        let (node, record) = (candidate.node, model.node(candidate.node));
        let is_vector = |value: ValueId| dense_constant(model, value).is_some_and(|bias| bias.rank() == 1);
        dense_constant(model, record.input(1)?)?;
        let operand = record.input(0).filter(|&value| dense_constant(model, value).is_none())?;
        let is_factor =
            |name| record.attribute(name).and_then(|attribute| attribute.as_float()).unwrap_or(1.0) == 1.0;
        if record.is(op::MAT_MUL) {
            let result = record.output(0)?;
            let (sum, index) = model.sole_consumer(result)?;
            let other = model.node(sum);
            let is_sum = other.is(op::ADD) && other.domain().is_empty() && other.graph() == record.graph();
            let bias = 1_usize.checked_sub(index).filter(|_| is_sum)?;
            is_vector(other.input(bias)?).then_some(Self { node, operand, bias: (sum, bias) })
        } else if record.is(op::CONV) || record.is(op::CONV_TRANSPOSE) || record.is(op::GEMM) {
            let is_plain = is_factor(attr::ALPHA)
                && is_factor(attr::BETA)
                && record.int(attr::TRANS_A).unwrap_or(0) == 0;
            let has_place = record.input(2).is_none_or(is_vector) && (is_plain || !record.is(op::GEMM));
            has_place.then_some(Self { node, operand, bias: (node, 2) })
        } else {
            None
        }
    }
}

/// An operand of which the mean of each channel is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MeanOf {
    pub(crate) operand: ValueId,
    /// Whether it is one of a convolution, with the channels at axis 1; of products, they are at the last one.
    is_conv: bool,
}

impl MeanOf {
    /// The operand of a candidate with a bias that can be corrected.
    pub(crate) fn find(model: &Model, candidate: &Candidate) -> Option<Self> {
        Some(Place::of(model, candidate)?.mean(model))
    }

    /// The means that an operand can have.
    const fn all(operand: ValueId) -> [Self; 2] {
        [Self { operand, is_conv: false }, Self { operand, is_conv: true }]
    }

    pub(crate) const fn axis(&self, dims: &[i64]) -> usize {
        if self.is_conv { 1 } else { dims.len().saturating_sub(1) }
    }
}

/// The sums of the numbers of each channel of a value.
#[derive(Clone, Default)]
pub(crate) struct Means {
    sums: Vec<f64>,
    /// Number of elements of each channel.
    count: u64,
    /// Whether runs had different numbers of channels.
    is_mixed: bool,
}

impl Means {
    pub(crate) fn add(&mut self, dims: &[i64], axis: usize, numbers: &[f32]) {
        let channels = dims.get(axis).and_then(|&dim| usize::try_from(dim).ok()).unwrap_or(0);
        if channels == 0 || numbers.is_empty() {
            return;
        }
        if self.sums.is_empty() {
            self.sums.resize(channels, 0.0);
        }
        self.is_mixed |= self.sums.len() != channels;
        let inner = dims.iter().skip(axis + 1).product::<i64>();
        let inner = usize::try_from(inner).unwrap_or(1).max(1);
        for (row, sum) in numbers.chunks(inner).zip((0..channels).cycle()) {
            if let Some(sum) = self.sums.get_mut(sum) {
                *sum += row.iter().map(|&number| f64::from(number)).sum::<f64>();
            }
        }
        self.count += (numbers.len() / channels) as u64;
    }

    fn mean(&self, channel: usize) -> f64 {
        self.sums.get(channel).map_or(0.0, |sum| sum / self.count as f64)
    }
}

/// Which channels of the operand and of the result an element of a weight is between.
struct Channels {
    operand: usize,
    result: usize,
    /// The sizes of the weight: of its first axis, its second one, and the others together.
    sizes: [usize; 3],
    /// Channels of a group, of what the first axis numbers.
    group: usize,
    is_first_result: bool,
}

impl Channels {
    fn find(model: &Model, node: NodeId, weight: &Tensor) -> Option<Self> {
        let record = model.node(node);
        let dims: Option<Vec<usize>> = weight.dims().iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let dims = dims.filter(|dims| dims.iter().all(|&dim| dim > 0))?;
        let (&[first, second], rest) = dims.split_first_chunk::<2>()?;
        let is_conv = record.is(op::CONV) || record.is(op::CONV_TRANSPOSE);
        let is_transposed = record.is(op::GEMM) && record.int(attr::TRANS_B).unwrap_or(0) != 0;
        if !is_conv && !rest.is_empty() {
            return None;
        }
        let groups = if is_conv { record.int(attr::GROUP).unwrap_or(1) } else { 1 };
        let groups = usize::try_from(groups).ok().filter(|&groups| groups > 0 && first % groups == 0)?;
        let is_first_result = record.is(op::CONV) || is_transposed;
        let other = second.checked_mul(groups)?;
        let (operand, result) = if is_first_result { (other, first) } else { (first, other) };
        let sizes = [first, second, rest.iter().product()];
        Some(Self { operand, result, sizes, group: first / groups, is_first_result })
    }

    /// The channels of the operand and of the result of an element.
    const fn of(&self, element: usize) -> (usize, usize) {
        let [_, second, rest] = self.sizes;
        let first = element / (second * rest);
        let other = first / self.group * second + element / rest % second;
        if self.is_first_result { (other, first) } else { (first, other) }
    }
}

impl Work<'_> {
    /// Replaces a result by one with corrected biases, if its outputs are closer to those before on the samples. Returns how far they
    /// are apart, if that was measured.
    ///
    /// # Errors
    ///
    /// Returns an error if the work is ended early, or a weight cannot be read.
    pub(super) fn correct(
        &self,
        model: &Model,
        samples: &dyn Samples,
        known: &Runs,
        (result, report, stay): (&mut Model, &mut StaticReport, &Stay),
    ) -> Result<Option<Vec<MeasuredOutput>>, QuantizeError> {
        let (plan, _) = self.plan(model, stay)?;
        let (corrected, biases) = self.corrected(model, result, &plan, (samples, known))?;
        if biases == 0 {
            return Ok(None);
        }
        let (fixed, mut new) = self.attempt(&corrected, stay)?;
        let settings = MeasureOptions::default()
            .with_registry(self.options.registry)
            .with_data(self.options.data)
            .with_execution(self.options.execution.clone())
            .with_threads(self.options.threads);
        let outputs = known.outputs.as_deref();
        let measured = measure_each(model, &[&*result, &fixed], (samples, outputs), &settings);
        self.options.execution.interrupt.check()?;
        let Ok([before, after]) = measured.map(|found| <[_; 2]>::try_from(found).unwrap_or_default()) else {
            return Ok(None);
        };
        // Nothing says which of two models with integers only is closer.
        let (Some(least_before), Some(least_after)) = (least_ratio(&before), least_ratio(&after)) else {
            return Ok(Some(before));
        };
        let correction = Correction { biases, before: least_before, after: least_after };
        let mut chosen = before;
        if correction.is_applied() {
            new.runs = report.runs;
            new.outputs = if report.outputs.is_empty() { Vec::new() } else { after.clone() };
            (*result, *report) = (fixed, new);
            chosen = after;
        }
        report.correction = Some(correction);
        Ok(Some(chosen))
    }

    /// The model before with the biases that take back what rounding of the weights in the result adds, and the number of them.
    fn corrected(
        &self,
        model: &Model,
        result: &Model,
        plan: &Plan,
        (samples, known): (&dyn Samples, &Runs),
    ) -> Result<(Model, usize), QuantizeError> {
        let places: Vec<Place> =
            plan.nodes.iter().filter_map(|candidate| Place::of(model, candidate)).collect();
        if places.is_empty() {
            return Ok((model.clone(), 0));
        }
        let found;
        let means = match &known.means {
            Some(means) => means,
            None => {
                found = self.means(model, &places, samples)?;
                &found
            }
        };
        let (mut corrected, mut count) = (model.clone(), 0);
        for place in &places {
            self.options.execution.interrupt.check()?;
            let Some(means) = means.get(&place.mean(model)) else { continue };
            let Some(biases) = self.biases(model, result, place, means)? else { continue };
            let (node, index) = place.bias;
            let named = model.node(node).input(index).or_else(|| model.node(place.node).output(0));
            let name = named.map_or("bias", |value| model.str(model.value(value).name()));
            let name = format!("{name}_corrected");
            let new = add_constant(&mut corrected, &name, Tensor::vector(&biases))?;
            corrected.set_input(node, index, Some(new));
            count += 1;
        }
        Ok((corrected, count))
    }

    /// The means of the channels of the operands.
    fn means(
        &self,
        model: &Model,
        places: &[Place],
        samples: &dyn Samples,
    ) -> Result<HashMap<MeanOf, Means, RandomState>, QuantizeError> {
        let mut seen: HashSet<MeanOf, RandomState> = HashSet::default();
        let all = places.iter().map(|place| place.mean(model));
        let wanted: Vec<MeanOf> = all.filter(|of| seen.insert(*of)).collect();
        let values: Vec<ValueId> = wanted.iter().map(|of| of.operand).collect();
        let mut means: HashMap<MeanOf, Means, RandomState> = HashMap::default();
        let visit = |index: usize, dims: &[i64], numbers: &[f32], means: &mut HashMap<_, Means, _>| {
            let Some(&operand) = values.get(index) else { return };
            for of in MeanOf::all(operand).into_iter().filter(|of| seen.contains(of)) {
                means.entry(of).or_default().add(dims, of.axis(dims), numbers);
            }
        };
        let found = observe(model, &values, samples, self.options, &visit, (&mut means, &mut drop));
        found.map_err(|error| match error {
            CalibrateError::Stopped(stopped) => QuantizeError::Stopped(stopped),
            error => QuantizeError::NotMeasured(error.to_string()),
        })?;
        Ok(means)
    }

    /// The corrected bias of a place; `None` if its weight is not quantized, or a number is not finite.
    fn biases(
        &self,
        model: &Model,
        result: &Model,
        place: &Place,
        means: &Means,
    ) -> Result<Option<Vec<f32>>, QuantizeError> {
        let Some(value) = model.node(place.node).input(1) else { return Ok(None) };
        let Some(new) = result.node(place.node).input(1).filter(|&new| new != value) else { return Ok(None) };
        let Some(weight) = dense_constant(model, value) else { return Ok(None) };
        let Some(channels) = Channels::find(model, place.node, weight) else { return Ok(None) };
        if means.sums.len() != channels.operand || means.is_mixed {
            return Ok(None);
        }
        let name = |value: ValueId| model.str(model.value(value).name()).to_owned();
        let failed = |reason| QuantizeError::Weight { tensor: name(value), reason };
        let run = EvalOptions::default()
            .with_registry(self.options.registry)
            .with_data(self.options.data)
            .with_execution(self.options.execution.clone());
        let Ok(rounded) = constant(result, new, &run) else { return Ok(None) };
        let (before, after) = (
            weight.to_vec::<f32>(self.options.data).map_err(failed)?,
            rounded.to_vec::<f32>(self.options.data).map_err(failed)?,
        );
        let mut biases = match model.node(place.bias.0).input(place.bias.1) {
            None => vec![0.0; channels.result],
            Some(bias) => {
                let Some(bias) = dense_constant(model, bias) else { return Ok(None) };
                let numbers = bias.to_vec::<f32>(self.options.data).map_err(failed)?;
                numbers.into_iter().map(f64::from).collect()
            }
        };
        if biases.len() != channels.result || before.len() != after.len() {
            return Ok(None);
        }
        for (element, (before, after)) in before.iter().zip(&after).enumerate() {
            let (operand, result) = channels.of(element);
            if let Some(bias) = biases.get_mut(result) {
                *bias += f64::from(before - after) * means.mean(operand);
            }
        }
        let biases: Vec<f32> = biases.into_iter().map(|bias| bias as f32).collect();
        Ok(Some(biases).filter(|biases| biases.iter().all(|bias| bias.is_finite())))
    }
}
