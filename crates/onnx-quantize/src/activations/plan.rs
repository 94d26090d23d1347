//! Which nodes compute with quantized numbers, and which values are quantized.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_compose::{Quantization, Scales};
use onnx_ir::{Callee, Model, Node, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{ElemType, Stopped, Type, Watch};

use super::groups::Groups;
use super::{StaticOptions, WATCHED_NODES};
use crate::edits::nodes_outside_functions;
use crate::narrow::{Kept, Types, collect_types, keep_indices};
use crate::types::{inner_elem, is_other_float};
use crate::weights::{dense_constant, weight_operand};

/// A set of values.
type Values = HashSet<ValueId, RandomState>;

/// A node of an operator of the table.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) node: NodeId,
    pub(crate) scales: Scales,
    /// The indices of the operands that are quantized.
    pub(crate) operands: Vec<usize>,
    /// The results that are quantized.
    pub(crate) results: Vec<ValueId>,
    /// The index of the bias.
    pub(crate) bias: Option<usize>,
}

/// All nodes that could be quantized, in the order of the model.
pub(crate) struct Candidates {
    pub(crate) all: Vec<Candidate>,
    /// The products and convolutions that would be, if they did not compute in another type than `float`.
    pub(crate) others: Vec<NodeId>,
}

impl Candidates {
    pub(crate) fn find(
        model: &Model,
        table: &Quantization,
        options: &StaticOptions<'_>,
    ) -> Result<Self, Stopped> {
        let known = InferOptions::default()
            .with_registry(options.registry)
            .with_data(options.data)
            .with_execution(options.execution.clone());
        let inference = infer(model, &known);
        let mut types = Types::default();
        collect_types(model, model.main_graph(), &inference, &mut types, &options.execution.interrupt)?;
        let mut kept = Kept::default();
        let _ = keep_indices(model, &types, &[], &mut kept);
        let is_float = |value: ValueId| types.get(&value).and_then(inner_elem) == Some(ElemType::Float);
        let is_other = |value: ValueId| types.get(&value).and_then(inner_elem).is_some_and(is_other_float);
        let (mut all, mut others) = (Vec::new(), Vec::new());
        let mut watch = Watch::silent(&options.execution.interrupt, WATCHED_NODES);
        for node in nodes_outside_functions(model).into_iter().filter(|node| !kept.contains_key(node)) {
            watch.work(1)?;
            let record = model.node(node);
            let row = table.operator(model.str(record.op())).filter(|_| record.domain().is_empty());
            let is_standard = || matches!(model.callee(node, options.registry), Callee::Standard(_));
            let Some(row) = row.filter(|_| is_standard()) else { continue };
            if is_product(record) && record.inputs().flatten().any(is_other) {
                others.push(node);
                continue;
            }
            let bias = has_bias(record).then_some(2);
            let is_operand = |&(index, value): &(usize, Option<ValueId>)| {
                Some(index) != bias && value.is_some_and(&is_float)
            };
            let operands: Vec<(usize, Option<ValueId>)> =
                record.inputs().enumerate().filter(is_operand).collect();
            let is_foreign = |&(index, value): &(usize, Option<ValueId>)| {
                value.is_some_and(|value| {
                    is_dequantized(model, value) && !has_kernel(model, record, (index, value))
                })
            };
            if operands.iter().any(is_foreign) {
                continue;
            }
            // What is quantized already stays.
            let is_done = |value: ValueId| is_dequantized(model, value);
            let new: Vec<usize> = operands
                .iter()
                .filter(|(_, value)| value.is_some_and(|value| !is_done(value)))
                .map(|(index, _)| *index)
                .collect();
            let results = record.outputs().iter().copied().flatten().filter(|&value| is_float(value));
            let results: Vec<ValueId> = results.filter(|&value| !is_quantized(model, value)).collect();
            if !new.is_empty() && !results.is_empty() {
                all.push(Candidate { node, scales: row.scales, operands: new, results, bias });
            }
        }
        Ok(Self { all, others })
    }

    /// The values whose ranges matter: operands, results, and the results of activations behind them.
    pub(crate) fn watched(&self, model: &Model) -> Vec<ValueId> {
        let (mut seen, mut found) = (Values::default(), Vec::new());
        for candidate in &self.all {
            let record = model.node(candidate.node);
            let operands = candidate.operands.iter().filter_map(|&index| record.input(index));
            let activations = candidate.results.iter().filter_map(|&value| Some(activation(model, value)?.1));
            for value in operands.chain(candidate.results.iter().copied()).chain(activations) {
                if dense_constant(model, value).is_none() && seen.insert(value) {
                    found.push(value);
                }
            }
        }
        found
    }
}

/// Whether a product or a bias is multiplied by a number: the scale of a bias is not the product of the others then.
pub(crate) fn is_scaled(record: &Node) -> bool {
    let is_plain = |name| record.attribute(name).and_then(onnx_ir::Attribute::as_float).unwrap_or(1.0) == 1.0;
    record.is(op::GEMM) && !(is_plain(attr::ALPHA) && is_plain(attr::BETA))
}

pub(crate) fn has_bias(record: &Node) -> bool {
    record.is(op::CONV) || record.is(op::CONV_TRANSPOSE) || record.is(op::GEMM)
}

/// Whether a value is the result of a `DequantizeLinear`.
pub(crate) fn is_dequantized(model: &Model, value: ValueId) -> bool {
    model.value(value).producer().is_some_and(|node| model.node(node).is(op::DEQUANTIZE_LINEAR))
}

/// Whether runtimes compute with the numbers in front of the `DequantizeLinear` that makes an operand: they have one scale, or a weight has one
/// for each output channel. Of other scales, onnxruntime uses some as if they were those.
fn has_kernel(model: &Model, record: &Node, (index, value): (usize, ValueId)) -> bool {
    let Some(dequantize) = model.value(value).producer().map(|node| model.node(node)) else { return false };
    let elem = dequantize.input(0).and_then(|numbers| elem_of(model, numbers));
    if dequantize.int(attr::BLOCK_SIZE).unwrap_or(0) != 0 || elem == Some(ElemType::Int32) {
        return false;
    }
    let dims: Option<Vec<i64>> = dequantize.input(1).and_then(|scales| match model.constant_tensor(scales) {
        Some(scales) => Some(scales.dims().to_vec()),
        None => model.ty(scales)?.shape()?.dims().iter().map(|dim| dim.known()).collect(),
    });
    dims.is_none_or(|dims| dims.iter().all(|&dim| dim == 1)) || is_by_channel(model, record, (index, value))
}

/// The type of the elements of a value, as far as it is stated.
fn elem_of(model: &Model, value: ValueId) -> Option<ElemType> {
    match model.constant_tensor(value) {
        Some(tensor) => Some(tensor.elem()),
        None => model.ty(value).and_then(inner_elem),
    }
}

/// Whether the scales of a weight that is quantized already are those of its output channels.
pub(crate) fn is_by_channel(model: &Model, record: &Node, (index, value): (usize, ValueId)) -> bool {
    let found = || {
        let dequantize = model.node(model.value(value).producer()?);
        let numbers = dequantize.input(0)?;
        let rank = match model.constant_tensor(numbers) {
            Some(tensor) => tensor.rank(),
            None => model.ty(value).and_then(Type::shape)?.rank(),
        };
        let axis = dequantize.int(attr::AXIS).unwrap_or(1);
        let axis = usize::try_from(if axis < 0 { axis + i64::try_from(rank).ok()? } else { axis }).ok()?;
        let is_stack = record.is(op::MAT_MUL) && rank != 2;
        Some(index == 1 && !is_stack && weight_operand(record, index, rank)?.0 == axis)
    };
    found() == Some(true)
}

fn is_quantized(model: &Model, value: ValueId) -> bool {
    model.consumers(value).any(|node| model.node(node).is(op::QUANTIZE_LINEAR))
}

/// The only user of a value, if it is an activation that a range can take the place of, with its result.
pub(crate) fn activation(model: &Model, value: ValueId) -> Option<(NodeId, ValueId)> {
    let (node, index) = model.sole_consumer(value)?;
    let record = model.node(node);
    let is_activation = record.domain().is_empty() && (record.is(op::RELU) || record.is(op::CLIP));
    // The nodes are in one graph, so that one is executed when the other one is.
    let is_near = model.graph_of(value) == record.graph();
    let result = record.output(0)?;
    (is_activation && is_near && index == 0).then_some((node, result))
}

/// The least and the greatest number that an activation gives; `None` if they are not constant.
pub(crate) fn bounds(model: &Model, node: NodeId, data: &dyn DataSource) -> Option<(f32, f32)> {
    let record = model.node(node);
    if record.is(op::RELU) {
        return Some((0.0, f32::INFINITY));
    }
    let bound = |index: usize, name, default: f32| match record.input(index) {
        None => match record.attribute(name) {
            Some(attribute) => attribute.as_float(),
            None => Some(default),
        },
        Some(value) => {
            let tensor: &Tensor = model.constant_tensor(value)?;
            tensor.view::<f32>(data).ok()?.get(0)
        }
    };
    Some((bound(1, attr::MIN, f32::NEG_INFINITY)?, bound(2, attr::MAX, f32::INFINITY)?))
}

/// Why a node stays wide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum StayReason {
    /// It is excepted.
    Selection,
    /// A value has no range: it was not computed in the calibration, or had numbers that are not finite.
    NoRange,
    /// A constant has numbers that are not finite: no scale holds them.
    NotFinite,
    /// The numbers of a value are so small that `float` has no scale for them with all its bits.
    TooSmall,
    /// A value has numbers that say "minus infinity": a scale for them would make zeros of all others.
    Mask,
    /// One of its operands is smaller than a step of its result.
    Vanishes,
    /// It is steep where numbers are about 1, and a step of its operand is larger: a mask makes the range of the operand wide.
    Coarse,
    /// Its constant bias cannot be `int32` with the product of the scales of the operands.
    Bias,
    /// It moves or selects elements of a value that is not quantized, or for nodes that are not.
    Neighbors,
    /// Nothing that is quantized takes its result.
    NotTaken,
    /// The outputs would not be within the budget.
    Budget,
    /// It computes in another type than `float`.
    OtherType,
}

impl StayReason {
    /// The reason as the rest of a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Selection => "it is excepted",
            Self::NoRange => "a value has no range",
            Self::NotFinite => "a constant has numbers that are not finite",
            Self::TooSmall => "the numbers of a value are too small for a scale",
            Self::Mask => "a value has numbers of a mask",
            Self::Vanishes => "an operand is smaller than a step of the result",
            Self::Coarse => "a step of its operand is larger than the numbers that it tells apart",
            Self::Bias => "its bias cannot be int32 with the product of the scales",
            Self::Neighbors => "it moves elements that are not quantized around it",
            Self::NotTaken => "nothing that is quantized takes its result",
            Self::Budget => "the outputs would not be within the budget",
            Self::OtherType => "it computes in another type than float",
        }
    }
}

/// What is quantized.
pub(crate) struct Plan {
    /// The nodes, in order.
    pub(crate) nodes: Vec<Candidate>,
    /// The values that get a pair, and constants with the scale of others, in order.
    pub(crate) values: Vec<ValueId>,
    /// Results of activations that are removed if the range permits it: their nodes and operands.
    pub(crate) folds: HashMap<ValueId, (NodeId, ValueId), RandomState>,
    /// The results of activations that are removed, by their operands.
    folded: HashMap<ValueId, ValueId, RandomState>,
    /// The values as a set.
    all: Values,
    /// Values that have one scale.
    pub(crate) groups: Groups,
}

impl Plan {
    /// Chooses from the candidates, without those that stay wide: what a quantized product needs, directly or through others.
    pub(crate) fn choose(
        model: &Model,
        candidates: &Candidates,
        stay: &HashMap<NodeId, StayReason, RandomState>,
        options: &StaticOptions<'_>,
    ) -> Result<Self, Stopped> {
        let open: Vec<&Candidate> =
            candidates.all.iter().filter(|candidate| !stay.contains_key(&candidate.node)).collect();
        let optimistic = Self::of(model, &open, options)?;
        // Now without the operands and results of candidates that nothing needs.
        let nodes: HashSet<NodeId, RandomState> =
            optimistic.nodes.iter().map(|candidate| candidate.node).collect();
        let open: Vec<&Candidate> =
            open.into_iter().filter(|candidate| nodes.contains(&candidate.node)).collect();
        Self::of(model, &open, options)
    }

    /// What is quantized if all of these candidates may be.
    fn of(model: &Model, open: &[&Candidate], options: &StaticOptions<'_>) -> Result<Self, Stopped> {
        let mut watch = Watch::silent(&options.execution.interrupt, WATCHED_NODES);
        let mut plan = Self {
            nodes: Vec::new(),
            values: Vec::new(),
            folds: HashMap::default(),
            folded: HashMap::default(),
            all: Values::default(),
            groups: Groups::default(),
        };
        if !options.is_symmetric() && options.table.results {
            let own = open.iter().filter(|candidate| candidate.scales == Scales::Own);
            for &result in own.flat_map(|candidate| &candidate.results) {
                watch.work(1)?;
                let fold = activation(model, result)
                    .filter(|(node, _)| bounds(model, *node, options.data).is_some());
                if let Some((node, value)) = fold {
                    plan.folds.insert(value, (node, result));
                    plan.folded.insert(result, value);
                }
            }
        }
        let needed = Needed::find(model, open, &plan, (options, &mut watch))?;
        plan.collect(model, open, &needed, (options, &mut watch))?;
        Ok(plan)
    }

    /// The value that has the pair of a result: that of an activation behind it, if the range takes its place.
    fn pair_of(&self, result: ValueId) -> ValueId {
        self.folded.get(&result).copied().unwrap_or(result)
    }

    /// The values of a node that are quantized: operands, and results or those of activations behind them.
    pub(crate) fn values_of<'a>(
        &'a self,
        model: &'a Model,
        candidate: &'a Candidate,
    ) -> impl Iterator<Item = ValueId> + 'a {
        let record = model.node(candidate.node);
        let operands = candidate.operands.iter().filter_map(|&index| record.input(index));
        let results = candidate.results.iter().map(|&value| self.pair_of(value));
        operands.chain(results).filter(|value| self.all.contains(value))
    }

    /// Collects values and groups of the chosen nodes.
    fn collect(
        &mut self,
        model: &Model,
        open: &[&Candidate],
        needed: &Needed,
        (options, watch): (&StaticOptions<'_>, &mut Watch),
    ) -> Result<(), Stopped> {
        for &candidate in open.iter().filter(|candidate| needed.nodes.contains(&candidate.node)) {
            watch.work(1)?;
            let is_moving = candidate.scales == Scales::Equal;
            let mut own = operands(model, candidate);
            if !is_moving {
                own.retain(|&value| dense_constant(model, value).is_none());
            }
            if options.table.results || is_moving {
                let may_be_float = !options.quantized_results && gives_floats(model, candidate);
                let results = candidate.results.iter().map(|&result| self.pair_of(result));
                own.extend(results.filter(|value| !may_be_float || needed.values.contains(value)));
            }
            for &value in &own {
                if self.all.insert(value) {
                    self.values.push(value);
                }
            }
            if is_moving {
                self.groups.join(&own);
            }
            self.nodes.push(candidate.clone());
        }
        Ok(())
    }
}

/// The operands that are quantized, constants as well.
fn operands(model: &Model, candidate: &Candidate) -> Vec<ValueId> {
    let record = model.node(candidate.node);
    candidate.operands.iter().filter_map(|&index| record.input(index)).collect()
}

/// Whether an operator is worth quantized operands, whatever its result is for.
fn is_product(record: &Node) -> bool {
    [op::CONV, op::CONV_TRANSPOSE, op::GEMM, op::MAT_MUL].into_iter().any(|op| record.is(op))
}

/// Whether runtimes have an operator with quantized operands and a float result: of matrices, but not of convolutions.
fn gives_floats(model: &Model, candidate: &Candidate) -> bool {
    let record = model.node(candidate.node);
    record.is(op::GEMM) || record.is(op::MAT_MUL)
}

/// Whether a node that moves elements has an operand that is quantized if something takes it. A table of which elements are
/// gathered is quantized by itself.
fn moves_quantized(model: &Model, candidate: &Candidate, available: &Values) -> bool {
    let is_constant = |&value: &ValueId| dense_constant(model, value).is_some();
    let all = operands(model, candidate);
    all.iter().any(|value| available.contains(value))
        || (model.node(candidate.node).is(op::GATHER) && all.iter().any(is_constant))
}

/// The nodes that are quantized, and the values that they take.
struct Needed {
    nodes: HashSet<NodeId, RandomState>,
    values: Values,
}

impl Needed {
    /// Goes backwards from the products. If results have no pairs, all operators with their own scales are like products.
    fn find(
        model: &Model,
        open: &[&Candidate],
        plan: &Plan,
        (options, watch): (&StaticOptions<'_>, &mut Watch),
    ) -> Result<Self, Stopped> {
        let available = Self::available(model, open, plan, (options, watch))?;
        let mut makers: HashMap<ValueId, &Candidate, RandomState> = HashMap::default();
        let mut open_nodes = Vec::new();
        for &candidate in open {
            watch.work(1)?;
            let is_own = candidate.scales == Scales::Own;
            if is_own && (!options.table.results || is_product(model.node(candidate.node))) {
                open_nodes.push(candidate);
            } else if is_own || moves_quantized(model, candidate, &available) {
                for &result in &candidate.results {
                    makers.insert(result, candidate);
                    // An activation that stays is between quantized operators, too.
                    makers.extend(
                        activation(model, result).filter(|_| is_own).map(|(_, value)| (value, candidate)),
                    );
                }
            }
        }
        let mut found = Self { nodes: HashSet::default(), values: Values::default() };
        while let Some(candidate) = open_nodes.pop() {
            watch.work(1)?;
            if !found.nodes.insert(candidate.node) {
                continue;
            }
            let is_own = candidate.scales == Scales::Own;
            for value in operands(model, candidate) {
                if (!is_own || dense_constant(model, value).is_none()) && found.values.insert(value) {
                    open_nodes.extend(makers.get(&value));
                }
            }
        }
        Ok(found)
    }

    /// The values that are quantized if something takes them.
    fn available(
        model: &Model,
        open: &[&Candidate],
        plan: &Plan,
        (options, watch): (&StaticOptions<'_>, &mut Watch),
    ) -> Result<Values, Stopped> {
        let mut available = Values::default();
        let (own, moving): (Vec<&Candidate>, Vec<&Candidate>) =
            open.iter().copied().partition(|candidate| candidate.scales == Scales::Own);
        for candidate in own {
            watch.work(1)?;
            available.extend(
                operands(model, candidate)
                    .into_iter()
                    .filter(|&value| dense_constant(model, value).is_none()),
            );
            if options.table.results {
                available.extend(candidate.results.iter().map(|&result| plan.pair_of(result)));
            }
        }
        for candidate in moving {
            watch.work(1)?;
            if moves_quantized(model, candidate, &available) {
                available.extend(candidate.results.iter().copied());
            }
        }
        Ok(available)
    }
}
