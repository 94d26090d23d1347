//! Pairs of `QuantizeLinear` and `DequantizeLinear` in a model that becomes one of floats.
//!
//! A pair rounds, and it limits numbers to the range of the quantized type. Quantizers leave out a `Relu` or
//! `Clip` that the range does, so a pair whose range is not that of its operand becomes `Clip`.

use onnx_eval::{EvalOptions, constant};
use onnx_ir::{EditError, Model, NodeId, Position, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Traits, attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, Tensor, bf16, f16};

use super::format::Format;
use crate::activations::bounds;

/// Numbers between two bounds.
type Range = (f64, f64);

/// The number of nodes that are followed from a pair to what limits its operand.
const DEPTH: usize = 32;

/// A pair that can be removed.
pub(super) struct Pair {
    operand: ValueId,
    elem: ElemType,
    /// The numbers that it can give.
    range: Range,
}

impl Pair {
    /// The pair that ends with a node: both have the same parameters, which are constant and of one element, and the type of the
    /// operand is that of the result.
    pub(super) fn of(
        model: &Model,
        inference: &Inference,
        node: NodeId,
        run: &EvalOptions<'_>,
    ) -> Option<Self> {
        let second = model.node(node);
        let first = model.node(model.input_producer(node, 0)?);
        if !first.is(op::QUANTIZE_LINEAR) || !first.domain().is_empty() || first.graph() != second.graph() {
            return None;
        }
        let is_same = |index| first.input(index) == second.input(index);
        let is_same_attribute = |name| first.int(name) == second.int(name);
        let attributes = [attr::AXIS, attr::BLOCK_SIZE];
        if !is_same(1) || !is_same(2) || !attributes.into_iter().all(is_same_attribute) {
            return None;
        }
        let (operand, result) = (first.input(0)?, second.output(0)?);
        let elem = inference.elem(operand)?;
        if inference.elem(result)? != elem {
            return None;
        }
        let number = |value| -> Option<f64> {
            let tensor = constant(model, value, run).ok()?;
            let numbers: Vec<f64> = tensor.iter_f64(run.data).ok()?.collect();
            if let [number] = numbers[..] { Some(number) } else { None }
        };
        let format = Format::of(inference.elem(first.output(0)?)?)?;
        let zero = first.input(2).map_or(Some(0.0), number)?;
        let scale = number(first.input(1)?).filter(|scale| scale.is_finite() && *scale > 0.0)?;
        let bound = |quantized: f32| (f64::from(quantized) - zero) * scale;
        Some(Self { operand, elem, range: (bound(format.low), bound(format.high)) })
    }

    /// What takes the place of the pair, before a node: its operand, or the operand within the range of the pair. `true` if
    /// there is a limit.
    pub(super) fn floats(
        &self,
        model: &mut Model,
        before: NodeId,
        data: &dyn DataSource,
    ) -> Result<(ValueId, bool), EditError> {
        let own = range(model, self.operand, DEPTH, data);
        let (low, high) = self.range;
        if low <= own.0 && own.1 <= high {
            return Ok((self.operand, false));
        }
        let (low, high) = ((low > own.0).then_some(low), (own.1 > high).then_some(high));
        let name = format!("{}_limited", model.str(model.value(self.operand).name()));
        let name = model.unused_name(&name);
        let name = model.str(name).to_owned();
        let version = model.versions_in(model.node(before).graph()).get(domain::ONNX).unwrap_or(1);
        let mut build = model.build_at(Position::Before(before));
        let limited = if version < 11 {
            let mut node = build.op(op::CLIP, [self.operand]);
            for (name, bound) in [(attr::MIN, low), (attr::MAX, high)] {
                if let Some(bound) = bound {
                    node = node.attr(name, bound as f32);
                }
            }
            node.output_named(&name)?
        } else {
            let low = low.map(|low| build.constant(self.tensor(low))).transpose()?;
            let high = high.map(|high| build.constant(self.tensor(high))).transpose()?;
            let node = build.op(op::CLIP, [self.operand]).input(low);
            let node = if high.is_some() { node.input(high) } else { node };
            node.output_named(&name)?
        };
        Ok((limited, true))
    }

    fn tensor(&self, number: f64) -> Tensor {
        match self.elem {
            ElemType::Float16 => Tensor::scalar(f16::from_f64(number)),
            ElemType::Bfloat16 => Tensor::scalar(bf16::from_f64(number)),
            ElemType::Double => Tensor::scalar(number),
            _ => Tensor::scalar(number as f32),
        }
    }
}

/// A range that has all numbers of a value, as far as the operators in front of it say.
fn range(model: &Model, value: ValueId, depth: usize, data: &dyn DataSource) -> Range {
    const ALL: Range = (f64::NEG_INFINITY, f64::INFINITY);
    let Some(node) = model.value(value).producer().filter(|_| depth > 0) else { return ALL };
    let record = model.node(node);
    if !record.domain().is_empty() {
        return ALL;
    }
    let of = |value: ValueId| range(model, value, depth - 1, data);
    match record.op() {
        op::RELU | op::CLIP => {
            let (low, high) = bounds(model, node, data).map_or(ALL, |(low, high)| (low.into(), high.into()));
            let own = record.input(0).map_or(ALL, of);
            (own.0.max(low), own.1.min(high))
        }
        op::SIGMOID | op::HARD_SIGMOID | op::SOFTMAX => (0.0, 1.0),
        op::TANH | op::SOFTSIGN | op::ERF => (-1.0, 1.0),
        // Each element of the result is one of the first operand.
        other if newest(other).is_some_and(Traits::keeps_elements) => record.input(0).map_or(ALL, of),
        _ => ALL,
    }
}
