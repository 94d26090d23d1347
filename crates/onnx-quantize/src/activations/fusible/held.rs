//! What stays between quantized operators, or in front of one, and does not by itself in onnxruntime.
//!
//! A `Conv`, `ConvTranspose` or `Gemm` between a `DequantizeLinear` and a `QuantizeLinear` gets a quantized weight and bias from onnxruntime
//! if these are constants of `float`: as if nothing were scaled, and also if the bias is beyond the range of `int32`, and before version 11 with
//! a `Round` that the operators do not have. A `Relu` or `Clip` in front of a `QuantizeLinear` to 8-bit floats is left out, as if a zero point
//! of 0 were the least number, or the model is not loaded. A `Sum` of the one result stops both; of a bias with an axis more, onnxruntime
//! makes nothing.
//!
//! Before it looks for any of this, onnxruntime leaves nodes out, joins equal ones, and puts functions and the branches of constant conditions
//! in their places. So [`passed`] nodes do not count, nor does who else uses a result.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_compose::BiasFormat;
use onnx_ir::{Model, Node, NodeId, Position, ValueId};
use onnx_schema::op;
use onnx_types::{ElemType, Stopped, Watch};

use super::runtime_view::{RuntimeView, dequantized_before, is_outside, passed};
use super::stacks::separated;
use super::{version, widen_bias};
use crate::activations::plan::{is_dequantized, is_scaled};
use crate::edits::nodes_outside_functions;
use crate::types::inner_elem;
use crate::weights::{QuantizeError, dense_constant};

/// The first version of `Round`.
const WITH_ROUND: i64 = 11;

/// How something is kept from onnxruntime.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Held {
    /// The bias is an operand of a node, which gets an axis more.
    Bias(NodeId, usize),
    /// An operand of a node, such as a `QuantizeLinear`, gets a `Sum` in front of it.
    Operand(NodeId, usize),
}

impl Held {
    /// What there is in a model, but not in the one before it was quantized: that was for the runtime to do.
    pub(super) fn find(
        (model, view): (&Model, &RuntimeView),
        before: &Model,
        bias: BiasFormat,
        watch: &mut Watch,
    ) -> Result<Vec<Self>, Stopped> {
        let mut in_one = |model: &Model| -> Result<Vec<(NodeId, Self)>, Stopped> {
            let mut found = Vec::new();
            for node in nodes_outside_functions(model) {
                watch.work(1)?;
                found.extend(Self::of((model, view), node, bias).map(|held| (node, held)));
            }
            Ok(found)
        };
        let known: HashSet<NodeId, RandomState> = in_one(before)?.into_iter().map(|(node, _)| node).collect();
        let found = in_one(model)?.into_iter().filter(|(node, _)| !known.contains(node));
        Ok(found.map(|(_, held)| held).collect())
    }

    /// What is in front of a `QuantizeLinear`, behind what a runtime makes a part of it, leaves out, or moves it over.
    fn of((model, view): (&Model, &RuntimeView), quantize: NodeId, bias: BiasFormat) -> Option<Self> {
        let record = model.node(quantize);
        if !record.is(op::QUANTIZE_LINEAR) {
            return None;
        }
        let is_short = gives_short_floats(model, record);
        let (mut open, mut seen) = (vec![record.input(0)?], HashSet::<ValueId, RandomState>::default());
        while let Some(value) = open.pop() {
            let node = model.value(value).producer().filter(|_| seen.insert(value));
            let Some((node, record)) = node.map(|node| (node, model.node(node))) else { continue };
            let is = |op| record.is(op);
            let is_activation = is(op::RELU) || is(op::CLIP);
            if is_activation && is_short {
                return Some(Self::Operand(quantize, 0));
            }
            if let Some(held) = Self::of_product((model, view), node, bias) {
                return Some(held.unwrap_or(Self::Operand(quantize, 0)));
            }
            if is_activation || is(op::BATCH_NORMALIZATION) {
                open.extend(record.input(0));
            } else if [op::ADD, op::SUB, op::MUL, op::DIV].into_iter().any(is) {
                open.extend(changed((model, view), record));
            } else {
                open.extend(passed(model, value));
            }
        }
        None
    }

    /// Whether onnxruntime quantizes an operator in front of a `QuantizeLinear`, or what it makes of it and the sum behind it: `Some(None)` if only a
    /// node between stops it.
    fn of_product(
        (model, view): (&Model, &RuntimeView),
        node: NodeId,
        bias: BiasFormat,
    ) -> Option<Option<Self>> {
        let record = model.node(node);
        let is_convolution = record.is(op::CONV) || record.is(op::CONV_TRANSPOSE);
        let is_product = is_convolution || record.is(op::GEMM) || record.is(op::MAT_MUL);
        let weight = record.input(1).filter(|_| is_product)?;
        let is_done = dequantized_before(model, weight);
        let stays = dense_constant(model, weight).is_some() || !(is_done || view.varies(model, weight));
        if !(stays || is_done) || !dequantized_before(model, record.input(0)?) {
            return None;
        }
        let added = match record.is(op::MAT_MUL) {
            // With nothing behind it, it does not become a `Gemm`.
            true => view.sums_behind(model, node).first().map(|&(sum, index)| Some((sum.node, index)))?,
            false => record.input(2).map(|_| (node, 2)),
        };
        let vector = added.and_then(|(user, index)| model.node(user).input(index));
        // A bias of another form, or one that is computed, stays, and the weight with it.
        let is_open = |bias| {
            let has_rank = view.rank(model, bias).is_none_or(|rank| rank == 1);
            has_rank && !is_dequantized(model, bias) && !view.varies(model, bias)
        };
        if vector.is_some_and(|bias| !is_open(bias)) {
            return None;
        }
        let has_open_bias =
            || bias == BiasFormat::Int32 || is_scaled(record) || version(model, node) < WITH_ROUND;
        if !stays && (vector.is_none() || !has_open_bias()) {
            return None;
        }
        // Functions are not changed.
        let is_near = added.is_some_and(|(user, _)| is_outside(model, user));
        let is_row = is_near && vector.is_some_and(|bias| dense_constant(model, bias).is_some());
        let added = added.filter(|_| is_row && !is_convolution);
        Some(added.map(|added| match record.is(op::MAT_MUL) {
            true => separated(model, view, node, added),
            false => Self::Bias(added.0, added.1),
        }))
    }

    /// Keeps it from onnxruntime. Returns `false` if there is nothing to do any more.
    pub(super) fn hold(self, model: &mut Model) -> Result<bool, QuantizeError> {
        let (user, index) = match self {
            Self::Bias(user, index) => return widen_bias(model, (user, index)),
            Self::Operand(user, index) => (user, index),
        };
        let Some(value) = model.node(user).input(index) else { return Ok(false) };
        let name = format!("{}_kept", model.str(model.value(value).name()));
        let name = model.unused_name(&name);
        let name = model.str(name).to_owned();
        let new = model.build_at(Position::Before(user)).op(op::SUM, [value]).output_named(&name)?;
        let ty = model.value(value).shared_ty().cloned();
        model.set_type(new, ty);
        model.set_input(user, index, Some(new));
        Ok(true)
    }
}

/// The operand to which a constant is added, or that it multiplies.
fn changed((model, view): (&Model, &RuntimeView), record: &Node) -> Option<ValueId> {
    let is_constant = |value: ValueId| !view.varies(model, value);
    match (record.input(0)?, record.input(1)?) {
        (value, other) if is_constant(other) => Some(value),
        (other, value) if is_constant(other) => Some(value),
        _ => None,
    }
}

/// Whether a `QuantizeLinear` gives floats.
fn gives_short_floats(model: &Model, record: &Node) -> bool {
    let of_result = record.output(0).and_then(|value| model.ty(value)).and_then(inner_elem);
    let zero = || Some(model.constant_tensor(record.input(2)?)?.elem());
    of_result.or_else(zero).is_some_and(ElemType::is_float)
}
