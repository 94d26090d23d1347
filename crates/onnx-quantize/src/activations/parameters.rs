//! Scales and zero points of values.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_eval::compare::Noise;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::op;
use onnx_types::{Interrupt, Stopped, Watch};

use super::calibrate::{CalibrateError, observe};
use super::plan::{Candidate, Plan, StayReason};
use super::{Ranges, StaticOptions, WATCHED_NODES};
use crate::samples::Samples;
use crate::weights::{Format, dense_constant};

/// The ranges, scales and zero points of the sets of values that have one scale, by their representatives.
pub(crate) struct Parameters {
    ranges: HashMap<ValueId, (f32, f32), RandomState>,
    parameters: HashMap<ValueId, (f32, f32), RandomState>,
    own: HashMap<ValueId, (f32, f32), RandomState>,
    /// The sets of values whose numbers are too small for a scale.
    small: HashSet<ValueId, RandomState>,
    /// The greatest magnitudes of the constant operands of sums.
    constants: HashMap<ValueId, f32, RandomState>,
}

/// Numbers beyond this say "minus infinity": a scale for them would make zeros of all others.
const MASK: f32 = 1e30;

impl Parameters {
    /// The parameters of all values of a plan that have a range.
    pub(crate) fn find(
        model: &Model,
        plan: &Plan,
        to: &Format,
        known: &Ranges,
        options: &StaticOptions<'_>,
    ) -> Result<Self, Stopped> {
        let mut watch = Watch::silent(&options.execution.interrupt, WATCHED_NODES);
        let mut found = Self {
            ranges: HashMap::default(),
            parameters: HashMap::default(),
            own: HashMap::default(),
            small: HashSet::default(),
            constants: HashMap::default(),
        };
        for candidate in plan.nodes.iter().filter(|candidate| is_sum(model, candidate)) {
            watch.work(1)?;
            let record = model.node(candidate.node);
            for value in candidate.operands.iter().filter_map(|&index| record.input(index)) {
                let range = dense_constant(model, value).and_then(|tensor| ends(tensor, options));
                found.constants.extend(range.map(|range| (value, size(range))));
            }
        }
        let mut incomplete = Vec::new();
        for &value in &plan.values {
            watch.work(1)?;
            let range = match dense_constant(model, value) {
                Some(tensor) => ends(tensor, options),
                None => known.get(model.str(model.value(value).name())),
            };
            let root = plan.groups.of(value);
            let Some(range) = range else {
                incomplete.push(root);
                continue;
            };
            found.own.insert(value, range);
            let joined = found.ranges.entry(root).or_insert(range);
            *joined = (joined.0.min(range.0), joined.1.max(range.1));
        }
        for root in incomplete {
            found.ranges.remove(&root);
        }
        let small = found.ranges.iter().filter(|(_, range)| !to.has_scale(**range, options.is_symmetric()));
        found.small = small.map(|(&root, _)| root).collect();
        let parameters = |&range: &(f32, f32)| to.parameters(range, options.is_symmetric());
        found.parameters = found.ranges.iter().map(|(&root, range)| (root, parameters(range))).collect();
        Ok(found)
    }

    /// The scale and the zero point of a value.
    pub(crate) fn of(&self, plan: &Plan, value: ValueId) -> Option<(f32, f32)> {
        self.parameters.get(&plan.groups.of(value)).copied()
    }

    /// The nodes that cannot be quantized with these ranges.
    pub(crate) fn unusable(
        &self,
        model: &Model,
        plan: &Plan,
        to: &Format,
        interrupt: &Interrupt,
    ) -> Result<Vec<(NodeId, StayReason)>, Stopped> {
        let mut found = Vec::new();
        let mut watch = Watch::silent(interrupt, WATCHED_NODES);
        for candidate in &plan.nodes {
            watch.work(1)?;
            // Others of the same scale may stay.
            if plan.values_of(model, candidate).any(|value| !self.own.contains_key(&value)) {
                found.push((candidate.node, StayReason::NoRange));
            } else if plan
                .values_of(model, candidate)
                .any(|value| self.small.contains(&plan.groups.of(value)))
            {
                found.push((candidate.node, StayReason::TooSmall));
            } else if plan.values_of(model, candidate).any(|value| self.is_mask(value)) {
                found.push((candidate.node, StayReason::Mask));
            } else if self.vanishes(model, plan, candidate, to) {
                found.push((candidate.node, StayReason::Vanishes));
            } else if self.is_coarse(model, plan, candidate) {
                found.push((candidate.node, StayReason::Coarse));
            }
        }
        Ok(found)
    }

    fn is_mask(&self, value: ValueId) -> bool {
        self.own.get(&value).is_some_and(|&range| size(range) >= MASK)
    }

    /// Returns `true` for a function that is steep at numbers of about 1, of an operand whose steps are larger: `Softmax` of numbers with a
    /// mask of -1e4 or -1e9 would not see the others.
    fn is_coarse(&self, model: &Model, plan: &Plan, candidate: &Candidate) -> bool {
        let record = model.node(candidate.node);
        let is_steep =
            [op::SOFTMAX, op::LOG_SOFTMAX, op::SIGMOID, op::TANH].into_iter().any(|op| record.is(op));
        let operands = candidate.operands.iter().filter_map(|&index| record.input(index));
        let mut scales = operands.filter_map(|value| self.of(plan, value).map(|(scale, _)| scale));
        is_steep && scales.any(|scale| scale > 1.0)
    }

    /// Returns `true` if an operand of an operator that adds or joins is smaller than a step of the result.
    fn vanishes(&self, model: &Model, plan: &Plan, candidate: &Candidate, to: &Format) -> bool {
        if !is_sum(model, candidate) || to.is_float() {
            return false;
        }
        let values = plan.values_of(model, candidate).filter_map(|value| self.own.get(&value));
        let record = model.node(candidate.node);
        let operands = candidate.operands.iter().filter_map(|&index| record.input(index));
        let constants = operands.filter_map(|value| self.constants.get(&value).copied());
        let sizes: Vec<f32> = values.map(|&range| size(range)).chain(constants).collect();
        let step = sizes.iter().copied().fold(0.0, f32::max) / (to.high - to.low);
        sizes.iter().any(|&size| size > 0.0 && size < step)
    }

    /// The errors that only quantization makes in each value, in runs of the model.
    ///
    /// # Errors
    ///
    /// Returns an error if the model does not run.
    pub(crate) fn losses(
        &self,
        model: &Model,
        plan: &Plan,
        to: &Format,
        samples: &dyn Samples,
        options: &StaticOptions<'_>,
    ) -> Result<HashMap<ValueId, Noise, RandomState>, CalibrateError> {
        let values: Vec<ValueId> = plan
            .values
            .iter()
            .copied()
            .filter(|&value| dense_constant(model, value).is_none() && self.of(plan, value).is_some())
            .collect();
        let parameters: Vec<(f32, f32)> = values.iter().filter_map(|&value| self.of(plan, value)).collect();
        let mut sums = vec![Noise::default(); values.len()];
        let visit = |index: usize, _: &[i64], numbers: &[f32], sums: &mut Vec<Noise>| {
            let (Some(sum), Some(&(scale, zero))) = (sums.get_mut(index), parameters.get(index)) else {
                return;
            };
            for &number in numbers.iter().filter(|number| number.is_finite()) {
                let rounded = (to.quantize(number, scale, zero) - zero) * scale;
                sum.add(f64::from(number), f64::from(rounded));
            }
        };
        observe(model, &values, samples, options, &visit, (&mut sums, &mut drop))?;
        Ok(values.into_iter().zip(sums).collect())
    }
}

/// The greatest magnitude of a range.
const fn size(range: (f32, f32)) -> f32 {
    range.0.abs().max(range.1.abs())
}

/// Whether a node adds or joins its operands.
fn is_sum(model: &Model, candidate: &Candidate) -> bool {
    let record = model.node(candidate.node);
    [op::ADD, op::SUB, op::WHERE, op::CONCAT].into_iter().any(|op| record.is(op))
}

/// The least and the greatest number of a constant; `None` if one is not finite, or there is none.
fn ends(tensor: &onnx_types::tensor::Tensor, options: &StaticOptions<'_>) -> Option<(f32, f32)> {
    let view = tensor.view::<f32>(options.data).ok()?;
    let numbers = view.to_slice().ok()?;
    let mut found: Option<(f32, f32)> = None;
    for &number in numbers.iter() {
        if !number.is_finite() {
            return None;
        }
        let ends = found.unwrap_or((number, number));
        found = Some((ends.0.min(number), ends.1.max(number)));
    }
    found
}
