//! What is the same in each run, and the weights and biases that a model computes from it.
//!
//! Runtimes compute such values when they load a model, and then quantize a bias as they do one that is an initializer. Only initializers are
//! stored as quantized numbers, so weights become such as well.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Attribute, Def, GraphId, Model, Node, NodeId, OpsetScope, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{Dim, ElemType, Interrupt, Stopped, Watch};

use super::fusible::{body, is_outside};
use super::plan::{has_bias, is_dequantized};
use super::{StaticOptions, WATCHED_NODES};
use crate::edits::{add_constant, nodes_outside_functions, without_defaults};
use crate::weights::{QuantizeError, dense_constant, weight_operand};

/// The values of a model that are known not to be the same in each run: the nodes in front of one are not visited again for each node
/// behind it.
#[derive(Default)]
pub(crate) struct Varying(HashSet<ValueId, RandomState>);

impl Varying {
    /// Whether a value depends on what a caller gives, or a loop carries. Initializers that a caller may replace count as constants, as do the
    /// inputs of functions and sizes that the model states: runtimes treat them as such. What many nodes make counts as computed in each run.
    pub(crate) fn has(&mut self, model: &Model, value: ValueId) -> bool {
        // In a function, the sizes are those of the operands of each call.
        let is_stated = |node| {
            let record = model.node(node);
            gives_sizes(record) && !is_outside(model, node)
                || stated_sizes(record, |value| dims_of(model, value)).is_some()
        };
        self.has_unless(model, value, is_stated)
    }

    /// Whether a value depends on what a caller gives, if results of some nodes, which are the same in all calls, are constants.
    fn has_unless(&mut self, model: &Model, value: ValueId, is_constant: impl FnMut(NodeId) -> bool) -> bool {
        let has = follow(model, value, &self.0, is_constant);
        if has {
            self.0.insert(value);
        }
        has
    }
}

/// Whether a value depends on what a caller gives, given some that do, if results of some nodes are constants.
fn follow(
    model: &Model,
    value: ValueId,
    known: &HashSet<ValueId, RandomState>,
    mut is_constant: impl FnMut(NodeId) -> bool,
) -> bool {
    const MOST: usize = 4096;
    let (mut open, mut seen) = (vec![value], HashSet::<ValueId, RandomState>::default());
    let mut calls: HashMap<GraphId, NodeId, RandomState> = HashMap::default();
    while let Some(value) = open.pop() {
        if known.contains(&value) {
            return true;
        }
        let record = model.value(value);
        if !seen.insert(value) || record.initializer().is_some() {
            continue;
        }
        if seen.len() > MOST {
            return true;
        }
        match record.def() {
            Def::Input { graph, .. } if matches!(model.scope(graph), OpsetScope::Model) => return true,
            Def::Input { graph, index } => {
                let call = calls.get(&graph).map(|&call| model.node(call));
                open.extend(call.and_then(|call| call.input(index as usize)));
            }
            Def::Output { node, index } if !is_constant(node) => {
                let result = body(model, node).filter(|body| !calls.contains_key(body)).and_then(|body| {
                    calls.insert(body, node);
                    Some(model.graph(body).outputs().get(index as usize)?.value())
                });
                match result {
                    Some(result) => open.push(result),
                    // Of another call of a function, all operands count.
                    None => open.extend(model.node(node).inputs().flatten()),
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether the result of a node is about the sizes of its operand.
fn gives_sizes(record: &Node) -> bool {
    record.is(op::SHAPE) || record.is(op::SIZE)
}

/// The dimensions that the model states.
fn dims_of(model: &Model, value: ValueId) -> Option<Vec<Dim>> {
    match model.constant_tensor(value) {
        Some(tensor) => Some(tensor.dims().iter().copied().map(Dim::Known).collect()),
        None => Some(model.ty(value)?.shape()?.dims().to_vec()),
    }
}

/// What a `Shape` or `Size` gives, if the sizes are known.
fn stated_sizes(record: &Node, dims: impl FnOnce(ValueId) -> Option<Vec<Dim>>) -> Option<Tensor> {
    let dims = dims(record.input(0).filter(|_| gives_sizes(record))?)?;
    let count = i64::try_from(dims.len()).ok()?;
    let end = |name, default| {
        let at = record.attribute(name).and_then(Attribute::as_int).unwrap_or(default);
        usize::try_from(if at < 0 { at.saturating_add(count) } else { at }.clamp(0, count)).ok()
    };
    let range = match record.is(op::SHAPE) {
        true => end(attr::START, 0)?..end(attr::END, count)?,
        false => 0..dims.len(),
    };
    let sizes: Vec<i64> =
        dims.get(range).unwrap_or_default().iter().map(|dim| dim.known()).collect::<Option<_>>()?;
    match record.is(op::SHAPE) {
        true => Some(Tensor::vector(&sizes)),
        false => sizes.iter().try_fold(1_i64, |product, &size| product.checked_mul(size)).map(Tensor::scalar),
    }
}

/// A model with constants in the place of the sizes that biases are computed from, as far as inference knows these; initializers are
/// constants in all versions of the format.
fn with_sizes<'m>(
    model: &'m Model,
    places: &[Place],
    options: &EvalOptions<'_>,
) -> Result<Cow<'m, Model>, QuantizeError> {
    let mut source = without_defaults(model)?;
    let mut sizes = Vec::new();
    for &(.., value) in places {
        follow(model, value, &HashSet::default(), |node| {
            let gives_sizes = gives_sizes(model.node(node));
            sizes.extend((gives_sizes && is_outside(model, node)).then_some(node));
            gives_sizes
        });
    }
    if sizes.is_empty() {
        return Ok(source);
    }
    sizes.sort_unstable();
    sizes.dedup();
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(model, &known);
    for node in sizes {
        let record = model.node(node);
        let tensor = stated_sizes(record, |value| inference.ty(value).dims().map(<[Dim]>::to_vec));
        if let (Some(tensor), Some(value)) = (tensor, record.output(0)) {
            let mut build = source.to_mut().build_at(Position::Before(node));
            let new = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output()?;
            source.to_mut().replace_all_uses(value, new);
        }
    }
    Ok(source)
}

/// A node, the index of an operand, and the operand.
type Place = (NodeId, usize, ValueId);

/// The model with an initializer in the place of each bias that is computed from constants. Nodes and other values keep their identities.
///
/// # Errors
///
/// Returns an error if the model cannot be edited, or the work is ended early.
pub(super) fn fold_biases<'m>(
    model: &'m Model,
    options: &StaticOptions<'_>,
) -> Result<Cow<'m, Model>, QuantizeError> {
    let places = computed(model, &options.execution.interrupt, |_, record| bias_places(model, record))?;
    fold(model, places, &options.evaluation())
}

/// The model with an initializer in the place of each weight that is computed from constants, of the nodes that a predicate chooses. Nodes and
/// other values keep their identities. What is computed of quantized numbers stays, and so is what another predicate says will be.
///
/// # Errors
///
/// Returns an error if the model cannot be edited, or the work is ended early.
pub(crate) fn fold_weights<'m>(
    model: &'m Model,
    except: &[NodeId],
    options: &EvalOptions<'_>,
    is_taken: impl Fn(&Node) -> bool,
    is_quantized: impl Fn(ValueId) -> bool,
) -> Result<Cow<'m, Model>, QuantizeError> {
    let except: HashSet<NodeId, RandomState> = except.iter().copied().collect();
    let mut places = computed(model, &options.execution.interrupt, |node, record| {
        let is_taken = is_taken(record) && !except.contains(&node);
        // The number of axes decides only which of them have scales.
        let is_weight = |index| is_taken && weight_operand(record, index, 2).is_some();
        usize::from(!is_weight(0))..1 + usize::from(is_weight(1))
    })?;
    places.retain(|&(.., value)| !is_of_quantized(model, value, &is_quantized));
    fold(model, places, options)
}

/// Whether a value is computed of dequantized numbers, or of constants that a predicate chooses.
fn is_of_quantized(model: &Model, value: ValueId, is_quantized: impl Fn(ValueId) -> bool) -> bool {
    let mut is_found = false;
    follow(model, value, &HashSet::default(), |node| {
        let record = model.node(node);
        is_found |= record.is(op::DEQUANTIZE_LINEAR) || record.inputs().flatten().any(&is_quantized);
        false
    });
    is_found
}

/// The model with initializers in the place of operands that are the same in each run.
fn fold<'m>(
    model: &'m Model,
    places: Vec<Place>,
    options: &EvalOptions<'_>,
) -> Result<Cow<'m, Model>, QuantizeError> {
    if places.is_empty() {
        return Ok(Cow::Borrowed(model));
    }
    let source = with_sizes(model, &places, options)?;
    let mut folded = Cow::Borrowed(model);
    let mut known: HashMap<ValueId, ValueId, RandomState> = HashMap::default();
    let mut equal = EqualConstants::default();
    let mut varying = Varying::default();
    for (node, index, value) in places {
        options.execution.interrupt.check()?;
        if varying.has(&source, value) {
            continue;
        }
        let new = match known.get(&value) {
            Some(&new) => new,
            None => {
                let tensor = match constant(&source, value, options) {
                    Ok(tensor) if tensor.elem() == ElemType::Float => tensor,
                    _ => continue,
                };
                let name = format!("{}_folded", model.str(model.value(value).name()));
                let new = equal.add(folded.to_mut(), &name, tensor, options.data)?;
                known.insert(value, new);
                new
            }
        };
        let result = folded.to_mut();
        result.set_input(node, index, Some(new));
        erase_dead(result, value)?;
    }
    Ok(folded)
}

/// Initializers that are added once: layers that share a weight compute it one by one.
#[derive(Default)]
struct EqualConstants {
    hashes: RandomState,
    by_hash: HashMap<u64, Vec<ValueId>, RandomState>,
}

impl EqualConstants {
    fn add(
        &mut self,
        model: &mut Model,
        name: &str,
        tensor: Tensor,
        data: &dyn DataSource,
    ) -> Result<ValueId, QuantizeError> {
        let mut state = self.hashes.build_hasher();
        tensor.hash_meaning(data, &mut state);
        let equal = self.by_hash.entry(state.finish()).or_default();
        let is_equal = |&&other: &&ValueId| {
            model.constant_tensor(other).is_some_and(|other| other.same_meaning(&tensor, data))
        };
        if let Some(&known) = equal.iter().find(is_equal) {
            return Ok(known);
        }
        let new = add_constant(model, name, tensor.held(data))?;
        equal.push(new);
        Ok(new)
    }
}

/// The operands that are results of nodes and may be the same in each run, of those that a function gives for a node.
fn computed(
    model: &Model,
    interrupt: &Interrupt,
    operands: impl Fn(NodeId, &Node) -> std::ops::Range<usize>,
) -> Result<Vec<Place>, Stopped> {
    let (mut found, mut varying) = (Vec::new(), Varying::default());
    let mut watch = Watch::silent(interrupt, WATCHED_NODES);
    for node in nodes_outside_functions(model) {
        watch.work(1)?;
        let record = model.node(node);
        let places = if record.domain().is_empty() { operands(node, record) } else { 0..0 };
        for index in places {
            let Some(value) = record.input(index) else { continue };
            let is_computed =
                model.value(value).producer().is_some() && dense_constant(model, value).is_none();
            let mut may_vary = || varying.has_unless(model, value, |node| gives_sizes(model.node(node)));
            if is_computed && !is_dequantized(model, value) && !may_vary() {
                found.push((node, index, value));
            }
        }
    }
    Ok(found)
}

/// The operands of a node that may be a bias: of a sum, both if one is a product.
fn bias_places(model: &Model, record: &Node) -> std::ops::Range<usize> {
    let is_product = |value: ValueId| {
        let node = model.value(value).producer().map(|node| model.node(node));
        node.is_some_and(|node| node.is(op::MAT_MUL) && node.domain().is_empty())
    };
    match record {
        _ if has_bias(record) => 2..3,
        _ if record.is(op::ADD) && record.inputs().flatten().any(is_product) => 0..2,
        _ => 0..0,
    }
}

/// Erases the nodes that made a value for nothing else.
fn erase_dead(model: &mut Model, value: ValueId) -> Result<(), QuantizeError> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let node = model.get_value(value).and_then(|record| record.producer());
        let Some(node) = node.filter(|&node| model.is_dead(node)) else { continue };
        open.extend(model.node(node).inputs().flatten());
        model.erase_node(node)?;
    }
    Ok(())
}
