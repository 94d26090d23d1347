//! Biases of operators with quantized operands: `int32` with the product of the scales.
//!
//! Runtimes have no quantized kernel with a bias of floats, and onnxruntime quantizes such a bias by itself, without the factors of `Gemm`, and
//! also if it is beyond the range of `int32`. So a node whose constant bias has no such form stays.

use onnx_compose::BiasFormat;
use onnx_ir::{Model, Node, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_types::Watch;
use onnx_types::tensor::{DataSource, Tensor, TensorError};

use super::constants::Varying;
use super::parameters::Parameters;
use super::plan::{Candidate, Plan, StayReason, is_by_channel, is_dequantized, is_scaled};
use super::{StaticOptions, WATCHED_NODES};
use crate::weights::{QuantizeError, dense_constant, weight_operand};

/// The scales of the operands of a node.
pub(super) struct Scales {
    /// That of the first operand.
    operand: f32,
    /// Those of the second one, of which there is one for each channel or one for all.
    weight: Vec<f32>,
}

/// A bias as quantized numbers.
pub(super) struct Quantized {
    pub(super) numbers: Vec<i32>,
    /// One for each number, or one for all.
    pub(super) scales: Vec<f32>,
}

/// What is known about the biases of a plan.
pub(super) struct Biases<'a> {
    pub(super) plan: &'a Plan,
    pub(super) parameters: &'a Parameters,
    pub(super) options: &'a StaticOptions<'a>,
}

impl Biases<'_> {
    /// The nodes whose constant bias cannot be `int32`.
    ///
    /// # Errors
    ///
    /// Returns an error if a bias cannot be read.
    pub(super) fn unusable(&self, model: &Model) -> Result<Vec<(NodeId, StayReason)>, QuantizeError> {
        let (mut found, mut varying) = (Vec::new(), Varying::default());
        let mut watch = Watch::silent(&self.options.execution.interrupt, WATCHED_NODES);
        for candidate in &self.plan.nodes {
            watch.work(1)?;
            let Some(value) = self.bias(model, candidate) else { continue };
            let is_usable = match dense_constant(model, value) {
                Some(_) => self.fits(model, candidate)?,
                // Runtimes quantize what is the same in each run, or that a caller may replace.
                None => is_dequantized(model, value) || varying.has(model, value),
            };
            if !is_usable {
                found.push((candidate.node, StayReason::Bias));
            }
        }
        Ok(found)
    }

    /// The bias of a node, if the target wants integers.
    fn bias(&self, model: &Model, candidate: &Candidate) -> Option<ValueId> {
        let index = candidate.bias.filter(|_| self.options.table.bias == BiasFormat::Int32)?;
        model.node(candidate.node).input(index)
    }

    fn fits(&self, model: &Model, candidate: &Candidate) -> Result<bool, QuantizeError> {
        let record = model.node(candidate.node);
        let row = self.row(model, candidate)?;
        let (Some(row), Some(operand)) = (row.filter(|_| !is_scaled(record)), self.operand(model, candidate))
        else {
            return Ok(false);
        };
        // The scale of a constant weight grows with the bias.
        let grows = candidate.operands.contains(&1)
            && record.input(1).is_some_and(|weight| dense_constant(model, weight).is_some());
        let fits = |weight: Vec<f32>| quantized(&row, &Scales { operand, weight }).is_some();
        Ok(grows || self.weight(model, candidate).is_some_and(fits))
    }

    /// The constant bias of a node with a number for each channel; `None` without one, if it is not finite, or if it is not a row.
    pub(super) fn row(
        &self,
        model: &Model,
        candidate: &Candidate,
    ) -> Result<Option<Vec<f32>>, QuantizeError> {
        let Some(value) = self.bias(model, candidate) else { return Ok(None) };
        let Some(bias) = dense_constant(model, value) else { return Ok(None) };
        if !matches!(bias.dims(), [] | [_] | [1, _]) {
            return Ok(None);
        }
        let failed = |reason: TensorError| QuantizeError::Weight {
            tensor: model.str(model.value(value).name()).to_owned(),
            reason,
        };
        let numbers = bias.to_vec::<f32>(self.options.data).map_err(failed)?;
        if numbers.iter().any(|number| !number.is_finite()) {
            return Ok(None);
        }
        Ok(match (numbers.as_slice(), channels(model, candidate.node)) {
            (&[number], Some(count)) => Some(vec![number; count]),
            (numbers, Some(count)) if numbers.len() != count => None,
            _ => Some(numbers),
        })
    }

    /// The scale of the first operand, unless it is that of a constant that is quantized.
    pub(super) fn operand(&self, model: &Model, candidate: &Candidate) -> Option<f32> {
        match *self.scales(model, candidate, 0)? {
            [scale] => Some(scale),
            _ => None,
        }
    }

    /// The scales of the second operand, unless they are those of a constant that is quantized.
    fn weight(&self, model: &Model, candidate: &Candidate) -> Option<Vec<f32>> {
        self.scales(model, candidate, 1)
    }

    fn scales(&self, model: &Model, candidate: &Candidate, index: usize) -> Option<Vec<f32>> {
        let record = model.node(candidate.node);
        let value = record.input(index)?;
        if candidate.operands.contains(&index) {
            let is_computed = dense_constant(model, value).is_none();
            let parameters = self.parameters.of(self.plan, value).filter(|_| is_computed);
            return parameters.map(|(scale, _)| vec![scale]);
        }
        stored(model, record, index, self.options.data)
    }

    /// The scales of both operands, with those of a weight that was quantized.
    pub(super) fn both(
        &self,
        model: &Model,
        candidate: &Candidate,
        weight: Option<Vec<f32>>,
    ) -> Option<Scales> {
        let operand = self.operand(model, candidate)?;
        let weight = weight.or_else(|| self.weight(model, candidate))?;
        Some(Scales { operand, weight })
    }

    /// The least scale of each channel of a weight with which the bias is within the range of `int32`; empty without a bias.
    pub(super) fn least_scales(
        &self,
        model: &Model,
        candidate: &Candidate,
    ) -> Result<Vec<f32>, QuantizeError> {
        /// Weights with smaller scales than `float` has next to this one are not distinguished from zero.
        const SMALL: f32 = 1e-12;
        let row = match self.options.table.bias {
            BiasFormat::Int32 => self.row(model, candidate)?,
            // onnxruntime makes integers of it.
            _ => float_row(model, candidate, self.options.data),
        };
        let (Some(row), Some(operand)) = (row, self.operand(model, candidate)) else { return Ok(Vec::new()) };
        // The product of the scales has all bits.
        let normal = if operand < SMALL { f32::MIN_POSITIVE / operand * 2.0 } else { 0.0 };
        let least = |number: &f32| {
            let least = f64::from(number.abs()) / (f64::from(operand) * f64::from(1 << 30));
            (least as f32).max(normal)
        };
        let least: Vec<f32> = row.iter().map(least).collect();
        Ok(if least.iter().all(|&least| least <= f32::MIN_POSITIVE) { Vec::new() } else { least })
    }
}

/// A bias that stays `float`.
fn float_row(model: &Model, candidate: &Candidate, data: &dyn DataSource) -> Option<Vec<f32>> {
    let bias = dense_constant(model, model.node(candidate.node).input(candidate.bias?)?)?;
    bias.to_vec::<f32>(data).ok()
}

/// The bias in integers; `None` if it has none.
pub(super) fn quantized(row: &[f32], scales: &Scales) -> Option<Quantized> {
    let products: Vec<f32> = scales.weight.iter().map(|scale| scale * scales.operand).collect();
    let is_one = products.len() == 1;
    if !products.iter().all(|product| product.is_normal()) || !(is_one || products.len() == row.len()) {
        return None;
    }
    let all = row.iter().zip(products.iter().cycle());
    let numbers = all.map(|(number, product)| {
        let number = (f64::from(*number) / f64::from(*product)).round_ties_even();
        (number.abs() <= f64::from(i32::MAX)).then_some(number as i32)
    });
    let numbers = numbers.collect::<Option<_>>()?;
    Some(Quantized { numbers, scales: products })
}

/// The number of channels of the result of a node with a constant weight.
fn channels(model: &Model, node: NodeId) -> Option<usize> {
    let record = model.node(node);
    let weight: &Tensor = dense_constant(model, record.input(1)?)?;
    let (axis, _) = weight_operand(record, 1, weight.rank())?;
    let count = usize::try_from(*weight.dims().get(axis)?).ok()?;
    let groups = match record.is(op::CONV_TRANSPOSE) {
        true => usize::try_from(record.int(attr::GROUP).unwrap_or(1)).ok()?,
        false => 1,
    };
    count.checked_mul(groups)
}

/// The scales of an operand that is quantized already: one, or one for each channel.
fn stored(model: &Model, record: &Node, index: usize, data: &dyn DataSource) -> Option<Vec<f32>> {
    let value = record.input(index).filter(|&value| is_dequantized(model, value))?;
    let dequantize = model.node(model.value(value).producer()?);
    let scales = model.constant_tensor(dequantize.input(1)?)?;
    let numbers = scales.to_vec::<f32>(data).ok()?;
    let is_one = numbers.len() == 1;
    let is_by_channel = || scales.rank() == 1 && is_by_channel(model, record, (index, value));
    (is_one || is_by_channel()).then_some(numbers)
}
