//! Constants out of the range of a format, and the values that can have their numbers.
//!
//! Runs do not show what a model does with a number that it did not choose, and in branches that were not taken. So such numbers are followed
//! through the model, from constants of all types, and from those that nodes compute.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_eval::{Value, run_node};
use onnx_ir::{Callee, GraphId, Model, Node, NodeId, User, ValueId};
use onnx_schema::{FormalType, Schema, op};
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{ElemType, Symbol};

use super::control_flow::{Link, links};
use super::functions::Types;
use super::range::HEADROOM;
use super::{ConstantLosses, Half, NarrowOptions, repeated};
use crate::activations::RuntimeView;
use crate::edits::evaluation;
use crate::types::{inner_elem, is_dense};

/// The most elements of a constant that is computed.
const MOST_ELEMENTS: u64 = 1 << 20;

/// The most elements of all constants that are computed.
const MOST_IN_ALL: u64 = 1 << 24;

/// Operators whose results are small if their first operand is large.
const BOUNDING: [Symbol; 17] = [
    op::ATAN,
    op::COS,
    op::ERF,
    op::GROUP_NORMALIZATION,
    op::HARD_SIGMOID,
    op::HARDMAX,
    op::INSTANCE_NORMALIZATION,
    op::LAYER_NORMALIZATION,
    op::LOG,
    op::LP_NORMALIZATION,
    op::RECIPROCAL,
    op::RMS_NORMALIZATION,
    op::SIGMOID,
    op::SIGN,
    op::SIN,
    op::SOFTMAX,
    op::TANH,
];

/// Finds constants whose numbers are beyond the range: those of other types than `float`, which a `Cast` makes floats, and those that nodes
/// compute. What is computed from a mask is one, too.
pub(super) fn find(
    model: &Model,
    types: &Types,
    half: Half,
    options: &NarrowOptions<'_>,
    losses: &ConstantLosses,
) -> Vec<(ValueId, f64)> {
    let mut found = Vec::new();
    for value in model.all_graphs().flat_map(|graph| model.initializers(graph)) {
        let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
        found.extend(tensor.and_then(|tensor| Some((value, worst(tensor, half, options.data)?))));
    }
    let mut known = Known { model, types, options, losses, values: HashMap::default(), left: MOST_IN_ALL };
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        if options.execution.interrupt.check().is_err() {
            break;
        }
        let record = model.node(node);
        let stored = record.constant_tensor().or_else(|| repeated(record));
        let stored = stored.and_then(|tensor| Some((record.output(0)?, worst(&tensor, half, options.data)?)));
        found.extend(stored);
        for (value, result) in known.results(node) {
            let worst = result.tensor().and_then(|tensor| worst_of(tensor, half, options.data));
            found.extend(worst.map(|worst| (value, worst)));
            known.values.insert(value, result);
        }
    }
    found
}

/// The constants that nodes compute.
struct Known<'a> {
    model: &'a Model,
    types: &'a Types,
    options: &'a NarrowOptions<'a>,
    losses: &'a ConstantLosses,
    values: HashMap<ValueId, Value, RandomState>,
    /// Elements that may still be computed.
    left: u64,
}

impl Known<'_> {
    /// The results of a node, if its operands are constants and none is a mask.
    fn results(&mut self, node: NodeId) -> Vec<(ValueId, Value)> {
        let (record, options) = (self.model.node(node), self.options);
        let is_standard = matches!(self.model.callee(node, options.registry), Callee::Standard(_));
        let is_open = record.input_count() > 0 && record.nested_graphs().next().is_none();
        if !is_standard || !is_open || !self.model.is_deterministic(node, options.registry) {
            return Vec::new();
        }
        let operands =
            record.inputs().map(|value| value.map_or(Some(None), |value| self.value(value).map(Some)));
        let Some(operands) = operands.collect::<Option<Vec<Option<Value>>>>() else { return Vec::new() };
        let count = size(self.types, record).filter(|&count| count <= MOST_ELEMENTS.min(self.left));
        let Some(count) = count else { return Vec::new() };
        self.left -= count;
        let run = evaluation(options.registry, options.data, &options.execution);
        let results = run_node(self.model, node, &operands, &run).unwrap_or_default();
        let results = record.outputs().iter().zip(results);
        results
            .filter_map(|(&value, result)| value.zip(result))
            .filter(|(value, _)| !self.is_mask(*value))
            .collect()
    }

    fn value(&self, value: ValueId) -> Option<Value> {
        let stored =
            || self.model.constant_tensor(value).filter(|tensor| is_small(tensor) && !self.is_mask(value));
        self.values.get(&value).cloned().or_else(|| stored().cloned().map(Value::from))
    }

    fn is_mask(&self, value: ValueId) -> bool {
        self.losses.get(&value).is_some_and(|losses| losses.is_mask)
    }
}

fn is_small(tensor: &Tensor) -> bool {
    tensor.element_count().is_some_and(|count| count <= MOST_ELEMENTS)
}

/// The number of elements that a node gives, if it is known.
fn size(types: &Types, record: &Node) -> Option<u64> {
    let of = |value: ValueId| {
        let dims = types.get(&value)?.shape()?.dims();
        dims.iter().try_fold(1_u64, |count, dim| count.checked_mul(u64::try_from(dim.known()?).ok()?))
    };
    record.outputs().iter().flatten().try_fold(0_u64, |sum, &value| sum.checked_add(of(value)?))
}

/// The greatest number of a stored constant out of range, of a type that is cast.
fn worst(tensor: &Tensor, half: Half, data: &dyn DataSource) -> Option<f64> {
    let is_wide = !matches!(tensor.elem(), ElemType::Float) && tensor.elem().bits() >= Some(16);
    worst_of(tensor, half, data).filter(|_| is_wide)
}

/// The greatest number out of range that `float` has.
fn worst_of(tensor: &Tensor, half: Half, data: &dyn DataSource) -> Option<f64> {
    let is_beyond = |&number: &f64| {
        let number = number as f32;
        number.is_finite() && half.rounded(number).is_infinite()
    };
    let beyond = tensor.iter_f64(data).ok()?.filter(is_beyond);
    beyond.reduce(|a, b| if b.abs() > a.abs() { b } else { a })
}

/// The values of `float` that can have numbers of some values, or what arithmetic makes of these. Each source has its greatest number.
pub(super) fn reached(
    model: &Model,
    types: &Types,
    half: Half,
    options: &NarrowOptions<'_>,
    sources: Vec<(ValueId, f64)>,
) -> Vec<ValueId> {
    let mut open = sources;
    if open.is_empty() {
        return Vec::new();
    }
    let walk = Walk { model, types, options, view: RuntimeView::of(model) };
    let mut found = Vec::new();
    let mut seen: HashMap<ValueId, f64, RandomState> = HashMap::default();
    while let Some((value, number)) = open.pop() {
        // In a loop, numbers may grow by each iteration.
        let magnitude = number.abs().min(f64::from(f32::MAX));
        let known = seen.get(&value).copied();
        if magnitude * HEADROOM <= f64::from(half.max())
            || known.is_some_and(|known| magnitude <= known * 2.0)
        {
            continue;
        }
        seen.insert(value, magnitude);
        if known.is_none() && walk.elem(value) == Some(ElemType::Float) {
            found.push(value);
        }
        for at in model.value(value).uses() {
            let index = at.index as usize;
            let (next, factor) = match at.user {
                User::Node(node) => (walk.behind(node, index, value), walk.factor(node, index)),
                User::Graph(graph) => (walk.outside(graph, index), 1.0),
                User::Attribute(_) => continue,
            };
            open.extend(next.into_iter().map(|next| (next, magnitude * factor)));
        }
    }
    found
}

struct Walk<'a> {
    model: &'a Model,
    types: &'a Types,
    options: &'a NarrowOptions<'a>,
    view: RuntimeView,
}

impl Walk<'_> {
    fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.types.get(&value).and_then(inner_elem)
    }

    /// The values that can have the numbers of an operand.
    fn behind(&self, node: NodeId, index: usize, value: ValueId) -> Vec<ValueId> {
        let record = self.model.node(node);
        match self.model.callee(node, self.options.registry) {
            Callee::Function(function) => {
                let body = self.model.function(function).body();
                self.model.graph(body).inputs().get(index).copied().into_iter().collect()
            }
            Callee::Standard(schema) if record.nested_graphs().next().is_some() => {
                self.linked(node, schema, |link| link.input == Some(index))
            }
            Callee::Standard(schema) => {
                let outputs =
                    record.outputs().iter().enumerate().filter_map(|(at, &value)| Some((at, value?)));
                outputs
                    .filter(|&(at, result)| self.passes((record, schema), (index, value), (at, result)))
                    .map(|(_, result)| result)
                    .collect()
            }
            // What others compute is not known.
            _ => Vec::new(),
        }
    }

    /// The values that are an output of a graph where it is the body of a node or a function.
    fn outside(&self, graph: GraphId, index: usize) -> Vec<ValueId> {
        let Some(owner) = self.model.owner_node(graph) else {
            let calls = self.view.calls(graph).iter();
            return calls.filter_map(|&call| self.model.node(call).output(index)).collect();
        };
        match self.model.callee(owner, self.options.registry) {
            Callee::Standard(schema) => {
                self.linked(owner, schema, |link| link.results.contains(&(graph, index)))
            }
            _ => Vec::new(),
        }
    }

    /// What a node of control flow makes of an operand or an output of its graphs: its results, and the inputs of the graphs.
    fn linked(
        &self,
        node: NodeId,
        schema: &'static Schema,
        is_chosen: impl Fn(&Link) -> bool,
    ) -> Vec<ValueId> {
        let record = self.model.node(node);
        let links = links(self.model, record, schema).unwrap_or_default();
        let chosen = links.into_iter().filter(|link| is_chosen(link));
        chosen
            .flat_map(|link| Link { input: None, results: Vec::new(), ..link }.values(self.model, record))
            .collect()
    }

    /// What a node multiplies a large number by, as far as constants say.
    fn factor(&self, node: NodeId, index: usize) -> f64 {
        let record = self.model.node(node);
        let is = |op| record.is(op);
        let other = 1_usize.checked_sub(index).filter(|_| is(op::MUL) || is(op::DIV) && index == 0);
        let tensor = other.and_then(|other| self.model.constant_tensor(record.input(other)?));
        let numbers = tensor
            .filter(|tensor| is_small(tensor))
            .and_then(|tensor| tensor.iter_f64(self.options.data).ok());
        let magnitudes = numbers.map(|numbers| numbers.map(f64::abs));
        match magnitudes {
            Some(magnitudes) if is(op::MUL) => magnitudes.fold(0.0, f64::max),
            Some(magnitudes) => magnitudes.fold(f64::INFINITY, f64::min).recip(),
            None => 1.0,
        }
    }

    /// Whether elements of a result of a node are elements of an operand, or what arithmetic makes of them.
    fn passes(
        &self,
        (record, schema): (&Node, &Schema),
        (index, value): (usize, ValueId),
        (at, result): (usize, ValueId),
    ) -> bool {
        let Some((operand, formal)) = schema.input_for(index).zip(schema.output_for(at)) else {
            return false;
        };
        if record.is(op::CAST) || record.is(op::CAST_LIKE) {
            return index == 0;
        }
        if index == 0 && BOUNDING.contains(&record.op()) || index == 1 && record.is(op::DIV) {
            return false;
        }
        let is_container = |value: ValueId| self.types.get(&value).is_some_and(|ty| !is_dense(ty));
        let has_variable = matches!(operand.ty, FormalType::Variable(_)) && operand.ty == formal.ty;
        let is_contained = || is_container(value) || is_container(result);
        has_variable || (is_contained() && self.elem(value) == self.elem(result))
    }
}
