//! What all changes of number formats do to a model.

use std::borrow::Cow;
use std::sync::Arc;

use onnx_eval::EvalOptions;
use onnx_ir::{Constant, Def, EditError, GraphId, Model, NodeId, OpsetScope, Position, ValueId};
use onnx_schema::{Registry, attr, op};
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{Dim, ElemType, Execution, Stopped, Type};

/// The graphs that are not in functions.
pub(crate) fn graphs_outside_functions(model: &Model) -> impl Iterator<Item = GraphId> + '_ {
    model.all_graphs().filter(|&graph| matches!(model.scope(graph), OpsetScope::Model))
}

/// The nodes that are not in functions.
pub(crate) fn nodes_outside_functions(model: &Model) -> Vec<NodeId> {
    graphs_outside_functions(model).flat_map(|graph| model.nodes(graph)).collect()
}

/// Adds an initializer to the main graph; see [`add_constant_in`].
pub(crate) fn add_constant(model: &mut Model, name: &str, tensor: Tensor) -> Result<ValueId, EditError> {
    add_constant_in(model, model.main_graph(), name, tensor)
}

/// Adds an initializer to a graph. Where the version of the format has no initializers that are not inputs, it is the default of an input
/// of the main graph, and a `Constant` node in nested graphs, whose inputs are not free.
pub(crate) fn add_constant_in(
    model: &mut Model,
    graph: GraphId,
    name: &str,
    mut tensor: Tensor,
) -> Result<ValueId, EditError> {
    let name = model.unused_name(name);
    let text = model.str(name).to_owned();
    tensor.set_name(text.clone());
    if has_nested_initializers(model) {
        return Ok(model.add_initializer(graph, name, tensor));
    }
    if graph != model.main_graph() {
        let mut build = model.build_at(Position::Start(graph));
        return build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output_named(&text);
    }
    let dims = tensor.dims().iter().copied().map(Dim::Known).collect();
    let value = model.add_graph_input(graph, &text, Type::tensor(tensor.elem(), Some(dims)));
    model.set_initializer(graph, value, Some(Arc::new(Constant::Dense(tensor))));
    Ok(value)
}

/// The first position of a graph where some values can be used.
pub(crate) fn behind(model: &Model, graph: GraphId, values: &[ValueId]) -> Position {
    let makers = values.iter().filter_map(|&value| model.value(value).producer());
    let makers = makers.filter(|&node| model.node(node).graph() == graph);
    let last = makers.reduce(|a, b| if model.is_before(a, b) { b } else { a });
    last.map_or(Position::Start(graph), Position::After)
}

/// Whether nested graphs can have initializers, and those of the main graph need not be inputs: since version 4 of the format.
pub(crate) fn has_nested_initializers(model: &Model) -> bool {
    !matches!(model.info().ir_version, ..4)
}

/// The inputs of the main graph that are not initializers, too.
fn open_inputs(model: &Model) -> Vec<ValueId> {
    let is_open = |value: &ValueId| model.value(*value).initializer().is_none();
    model.graph(model.main_graph()).inputs().iter().copied().filter(is_open).collect()
}

/// Erases the initializers and the `Constant` nodes of `float` that nothing uses any more, in all graphs. Where the version of the
/// format requires initializers as inputs, these inputs are erased, too: callers give no weights.
pub(crate) fn erase_unused_initializers(model: &mut Model) {
    let main = model.main_graph();
    if !has_nested_initializers(model) {
        let is_kept = |value: &ValueId| {
            let record = model.value(*value);
            record.initializer().is_none() || record.is_used()
        };
        let kept: Vec<ValueId> = model.graph(main).inputs().iter().copied().filter(is_kept).collect();
        // All of them are inputs now.
        let _ = model.set_graph_inputs(main, &kept);
    }
    let graphs: Vec<_> = model.all_graphs().collect();
    model.erase_unused_initializers_in(&graphs);
    for node in nodes_outside_functions(model) {
        let is_float =
            |value| model.constant_tensor(value).is_some_and(|tensor| tensor.elem() == ElemType::Float);
        let record = model.node(node);
        if record.is(op::CONSTANT) && record.output(0).is_some_and(is_float) && model.is_dead(node) {
            // It has no users.
            let _ = model.erase_node(node);
        }
    }
}

/// Lets something see the initializers of a model as constants where the version of the format requires them as inputs; they are inputs
/// afterwards, as are new ones.
pub(crate) fn with_constants<T>(
    model: &mut Model,
    work: impl FnOnce(&mut Model) -> T,
) -> Result<T, EditError> {
    if has_nested_initializers(model) {
        return Ok(work(model));
    }
    let main = model.main_graph();
    let before: Vec<ValueId> = model.graph(main).inputs().to_vec();
    let open = open_inputs(model);
    model.set_graph_inputs(main, &open)?;
    let done = work(model);
    let mut left: Vec<ValueId> = model.initializers(main).collect();
    let mut inputs: Vec<ValueId> =
        before.into_iter().filter(|value| open.contains(value) || left.contains(value)).collect();
    left.retain(|value| !inputs.contains(value));
    for &value in &left {
        let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
        let ty = tensor.map(|tensor| {
            Type::tensor(tensor.elem(), Some(tensor.dims().iter().copied().map(Dim::Known).collect()))
        });
        model.set_type(value, ty);
    }
    inputs.extend(left);
    model.set_graph_inputs(main, &inputs)?;
    make_constant_nodes(model)?;
    Ok(done)
}

/// Makes `Constant` nodes of the initializers of nested graphs, whose inputs are not free.
fn make_constant_nodes(model: &mut Model) -> Result<(), EditError> {
    let main = model.main_graph();
    let nested: Vec<GraphId> = graphs_outside_functions(model).filter(|&graph| graph != main).collect();
    for graph in nested {
        let values: Vec<ValueId> = model.initializers(graph).collect();
        for value in values {
            let tensor = model.value(value).initializer().and_then(|constant| constant.dense()).cloned();
            let is_input = matches!(model.value(value).def(), Def::Input { .. });
            let Some(tensor) = tensor.filter(|_| !is_input) else { continue };
            let mut build = model.build_at(Position::Start(graph));
            let new = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output()?;
            model.replace_all_uses(value, new);
            model.take_name(new, value);
        }
    }
    let graphs: Vec<GraphId> = graphs_outside_functions(model).collect();
    model.erase_unused_initializers_in(&graphs);
    Ok(())
}

/// A model whose initializers are constants where the version of the format requires them as inputs.
///
/// # Errors
///
/// Returns an error if the inputs cannot be changed.
pub(crate) fn without_defaults(model: &Model) -> Result<Cow<'_, Model>, EditError> {
    if has_nested_initializers(model) {
        return Ok(Cow::Borrowed(model));
    }
    let mut changed = model.clone();
    changed.set_graph_inputs(model.main_graph(), &open_inputs(model))?;
    Ok(Cow::Owned(changed))
}

/// The settings for computing constants.
pub(crate) fn evaluation<'a>(
    registry: &'a Registry,
    data: &'a dyn DataSource,
    execution: &Execution,
) -> EvalOptions<'a> {
    EvalOptions::default().with_registry(registry).with_data(data).with_execution(execution.clone())
}

/// Counts a node of an operator, in rows in the order of the first node of each.
pub(crate) fn count(rows: &mut Vec<(String, usize)>, operator: String) {
    match rows.iter_mut().find(|row| row.0 == operator) {
        Some(row) => row.1 += 1,
        None => rows.push((operator, 1)),
    }
}

/// Lets the users of `old` use `new`, which takes its name, and erases the node that made `old`.
pub(crate) fn substitute(
    model: &mut Model,
    node: NodeId,
    old: ValueId,
    new: ValueId,
) -> Result<(), EditError> {
    let is_named = model.is_known_output(old);
    let alias = model.replace_or_alias(old, new)?;
    if alias.is_none() && !is_named {
        model.take_name(new, old);
    }
    model.erase_node(node)
}

/// Raises the IR version to one that has the element types of the model. Initializers that old versions require as inputs are none any more:
/// newer ones let callers replace them.
pub(crate) fn raise_ir_version(model: &mut Model) {
    let had_inputs = !has_nested_initializers(model);
    onnx_check::raise_ir_version(model);
    if had_inputs && has_nested_initializers(model) {
        // All of them are inputs now.
        let _ = model.set_graph_inputs(model.main_graph(), &open_inputs(model));
    }
}

/// Writes the inferred types of inner values: runtimes find more to fuse where shapes are known. Inputs and outputs keep what they declare. The
/// IR version is raised to one that has the types.
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub(crate) fn write_types(
    model: &mut Model,
    registry: &Registry,
    data: &dyn DataSource,
    execution: &Execution,
) -> Result<(), Stopped> {
    let known =
        InferOptions::default().with_registry(registry).with_data(data).with_execution(execution.clone());
    let mut inference = infer(model, &known);
    execution.interrupt.check()?;
    let main = model.graph(model.main_graph());
    let outputs = main.outputs().iter().map(|output| output.value());
    let interface: Vec<ValueId> = main.inputs().iter().copied().chain(outputs).collect();
    let declared: Vec<_> =
        interface.into_iter().map(|value| (value, model.value(value).shared_ty().cloned())).collect();
    // Only `Strict` can fail.
    let _ = inference.apply(model, MergePolicy::Keep);
    for (value, ty) in declared {
        model.set_type(value, ty);
    }
    execution.interrupt.check()?;
    // What is not needed any more takes time to free, too.
    drop(inference);
    execution.interrupt.check()?;
    raise_ir_version(model);
    Ok(())
}
