//! A part of a model becomes the model.

mod region;

use onnx_ir::{AttrValue, CopyMap, Def, FunctionId, Model, NodeId, OpsetScope, Position, ValueId, ValueRef};
use onnx_schema::Registry;
use onnx_types::{Execution, Watch};
use slotmap::SecondaryMap;

use self::region::Region;
use crate::error::ComposeError;
use crate::interface::{declare, name, new_input_like, redirect, set_inputs, set_outputs};

/// Options of [`extract`] and [`extract_nodes`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExtractOptions<'a> {
    /// The operators that are known to inference.
    pub registry: Option<&'a Registry>,
    /// Limits, interrupt and progress.
    pub execution: Execution,
}

onnx_types::option_setters! {
    ExtractOptions<'a> {
        with_registry => registry: into Option<&'a Registry>,
        with_execution => execution: into Execution,
    }
}

/// Nodes between two checks of the interrupt.
const WATCHED_NODES: u64 = 1 << 10;

/// Result of [`extract`] and [`extract_nodes`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Extracted {
    /// Number of nodes of the main graph.
    pub nodes: usize,
    /// Names of inputs that were asked for, but that no output depends on.
    pub unused_inputs: Vec<String>,
    /// Whether training information of the model was removed, which refers to the whole graph.
    pub removed_training: bool,
}

/// Makes the part of one graph that computes `outputs` from `inputs` the model. Without inputs, they are those that the outputs
/// need.
///
/// The graph is the main graph, a nested graph or the body of a function. What a nested graph uses from the graphs around
/// becomes an input. Inputs of the graph with a default stay inputs with a default. Functions that are not called, and
/// initializers that are not used, are removed.
///
/// # Errors
///
/// Returns all paths that the inputs do not cut, the values without a known type, or another reason. The model is unchanged
/// then, unless the work is interrupted when some of the nodes are removed already.
///
/// # Panics
///
/// Panics if a value is not of this model or was erased.
pub fn extract(
    model: &mut Model,
    inputs: Option<&[ValueId]>,
    outputs: &[ValueId],
    options: &ExtractOptions<'_>,
) -> Result<Extracted, ComposeError> {
    let region = region::between(model, inputs, outputs, &options.execution.interrupt)?;
    apply(model, &region, options)
}

/// Makes nodes of one graph the model, with the constants that they use. Values of other nodes become inputs; values that other
/// nodes or nothing uses, and outputs of the graph, become outputs. A node in a nested graph stands for the node around it if
/// another node is outside of that.
///
/// # Errors
///
/// See [`extract`].
///
/// # Panics
///
/// Panics if a node is not of this model or was erased.
pub fn extract_nodes(
    model: &mut Model,
    nodes: &[NodeId],
    options: &ExtractOptions<'_>,
) -> Result<Extracted, ComposeError> {
    let region = region::around(model, nodes)?;
    apply(model, &region, options)
}

fn apply(
    model: &mut Model,
    region: &Region,
    options: &ExtractOptions<'_>,
) -> Result<Extracted, ComposeError> {
    let interrupt = &options.execution.interrupt;
    interrupt.check()?;
    let sorted = region.sorted(model)?;
    interrupt.check()?;
    refuse_cut_gradients(model, region, &sorted)?;
    let main = model.main_graph();
    // A value has a type in a body for each call, so inference has none for it.
    let boundary: Vec<ValueId> = region.inputs.iter().chain(&region.outputs).copied().collect();
    let standard = Registry::default();
    let function = match model.scope(region.graph) {
        OpsetScope::Function(function) => Some(function),
        OpsetScope::Model => None,
    };
    if let Some(function) = function {
        refuse_references(model, function, &sorted)?;
    }
    declare(model, &boundary, options.registry.unwrap_or(&standard), &options.execution)?;
    interrupt.check()?;
    let unused_inputs = unused(model, region, &sorted);
    interrupt.check()?;
    let (inputs, outputs) = if region.graph == main {
        in_place(model, region)?
    } else {
        moved(model, region, &sorted, function)?
    };
    let removed_training = model.remove_training();
    set_outputs(model, main, &outputs);
    let kept: SecondaryMap<NodeId, ()> = match region.graph == main {
        true => region.nodes.clone(),
        false => {
            let count = model.graph(main).node_count().saturating_sub(sorted.len());
            model.nodes(main).skip(count).map(|node| (node, ())).collect()
        }
    };
    interrupt.check()?;
    let all = model.sorted_nodes(main)?;
    let mut watch = Watch::silent(interrupt, WATCHED_NODES);
    for node in all.into_iter().rev().filter(|&node| !kept.contains_key(node)) {
        watch.work(1)?;
        model.erase_node(node)?;
    }
    watch.check()?;
    set_inputs(model, main, &inputs)?;
    clean(model);
    Ok(Extracted { nodes: model.graph(main).node_count(), unused_inputs, removed_training })
}

/// The names of inputs that no node uses and that are not outputs.
fn unused(model: &Model, region: &Region, sorted: &[NodeId]) -> Vec<String> {
    let mut used: SecondaryMap<ValueId, ()> = region.outputs.iter().map(|&value| (value, ())).collect();
    for &node in sorted {
        model.for_each_use_within(node, |value| {
            used.insert(value, ());
        });
    }
    let unused = region.inputs.iter().filter(|&&input| !used.contains_key(input));
    unused.map(|&input| name(model, input)).collect()
}

/// Gives the part its inputs, in the main graph. Returns inputs and outputs.
fn in_place(model: &mut Model, region: &Region) -> Result<(Vec<ValueId>, Vec<ValueId>), ComposeError> {
    let main = model.main_graph();
    let mut replaced: SecondaryMap<ValueId, ValueId> = SecondaryMap::new();
    for &value in &region.inputs {
        if !matches!(model.value(value).def(), Def::Input { graph, .. } if graph == main) {
            let new = new_input_like(model, value);
            model.replace_all_uses(value, new);
            replaced.insert(value, new);
        }
    }
    let nodes: Vec<NodeId> = region.nodes.keys().flat_map(|node| model.walk_node(node).nodes()).collect();
    redirect(model, main, &nodes, &replaced);
    let mapped = |value: &ValueId| replaced.get(*value).copied().unwrap_or(*value);
    Ok((region.inputs.iter().map(mapped).collect(), region.outputs.iter().map(mapped).collect()))
}

/// Copies a part of a nested graph or body to the end of the main graph. Returns inputs and outputs.
fn moved(
    model: &mut Model,
    region: &Region,
    sorted: &[NodeId],
    function: Option<FunctionId>,
) -> Result<(Vec<ValueId>, Vec<ValueId>), ComposeError> {
    let main = model.main_graph();
    let mut map = CopyMap::new();
    let mut inputs = Vec::with_capacity(region.inputs.len());
    for &value in &region.inputs {
        let new = new_input_like(model, value);
        map.map(value, new);
        inputs.push(new);
    }
    for &value in &region.constants {
        let constant = model.value(value).initializer().cloned();
        let new = new_input_like(model, value);
        model.set_initializer(main, new, constant);
        map.map(value, new);
    }
    if let Some(function) = function {
        map.set_attributes(model.function(function).defaults.clone());
        let imports = model.function(function).opset_imports.clone();
        model.info_mut().opset_imports = imports;
    }
    let title = model.graph(region.graph).name();
    model.copy_each(sorted, Position::End(main), &mut map)?;
    if !title.is_empty() {
        model.set_graph_name(main, title);
    }
    let outputs = region.outputs.iter().map(|&value| map.get(value)).collect();
    Ok((inputs, outputs))
}

/// An error if a value between those that a `Gradient` names becomes an input: the nodes that it differentiates would not be part of
/// the result.
fn refuse_cut_gradients(model: &Model, region: &Region, nodes: &[NodeId]) -> Result<(), ComposeError> {
    let inputs: SecondaryMap<ValueId, ()> = region.inputs.iter().map(|&input| (input, ())).collect();
    for node in nodes.iter().flat_map(|&node| model.walk_node(node).nodes()) {
        let differentiated = model.differentiated_values(node);
        let is_cut = |&value: &ValueId| inputs.contains_key(value) && model.value(value).producer().is_some();
        if let Some(value) = differentiated.into_iter().find(is_cut) {
            let node = onnx_ir::Places::new(model).node(node);
            let reason = format!(
                "`{}` would become an input, and a `Gradient` of the part differentiates the nodes that make it ({node})",
                name(model, value)
            );
            return Err(ComposeError::Refused(reason, Some(value)));
        }
    }
    Ok(())
}

/// An error if nodes of a body depend on an attribute of the call without a default.
fn refuse_references(model: &Model, function: FunctionId, nodes: &[NodeId]) -> Result<(), ComposeError> {
    let record = model.function(function);
    for node in nodes.iter().flat_map(|&node| model.walk_node(node).nodes()) {
        for attribute in model.node(node).attributes() {
            let AttrValue::Ref(target) = attribute.value() else { continue };
            if !record.defaults.iter().any(|default| default.name() == *target) {
                let name = model.str(*target).escape_debug();
                let reason = format!("the body depends on the attribute `{name}` of the call");
                return Err(ComposeError::refused(reason));
            }
        }
    }
    Ok(())
}

/// Removes references to erased values, functions that nothing calls, and initializers that nothing uses.
fn clean(model: &mut Model) {
    let main = model.main_graph();
    let is_live = |model: &Model, reference: ValueRef| match reference {
        ValueRef::Value(value) => model.get_value(value).is_some_and(|record| {
            record.is_used() || matches!(record.def(), Def::Input { graph, .. } if graph == main)
        }),
        ValueRef::Name(_) => false,
    };
    let dead: Vec<bool> =
        model.graph(main).quantization.iter().map(|entry| !is_live(model, entry.tensor)).collect();
    if dead.contains(&true) {
        let mut dead = dead.into_iter();
        model.graph_mut(main).quantization.retain(|_| dead.next() != Some(true));
    }
    let live: SecondaryMap<ValueId, ()> = model
        .value_info(main)
        .map(onnx_ir::InfoEntry::value)
        .filter(|&value| model.get_value(value).is_some())
        .map(|value| (value, ()))
        .collect();
    model.retain_value_info(main, |entry| live.contains_key(entry.value()));
    model.erase_unused_functions();
    model.erase_unused_initializers(main);
}
