//! What all changes of number formats do to a model.

use onnx_ir::{EditError, GraphId, Model, NodeId, OpsetScope, ValueId};
use onnx_types::tensor::Tensor;

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

/// Adds an initializer to a graph, also as an input if the version of the format requires that.
pub(crate) fn add_constant_in(
    model: &mut Model,
    graph: GraphId,
    name: &str,
    mut tensor: Tensor,
) -> Result<ValueId, EditError> {
    let name = model.unused_name(name);
    tensor.set_name(model.str(name).to_owned());
    let value = model.add_initializer(graph, name, tensor);
    if matches!(model.info().ir_version, ..4) {
        model.push_graph_input(graph, value)?;
    }
    Ok(value)
}

/// Erases the initializers that nothing uses any more, in all graphs.
pub(crate) fn erase_unused_initializers(model: &mut Model) {
    let graphs: Vec<_> = model.all_graphs().collect();
    model.erase_unused_initializers_in(&graphs);
}

/// Counts a node of an operator, in rows in the order of the first node of each.
pub(crate) fn count(rows: &mut Vec<(String, usize)>, operator: String) {
    match rows.iter_mut().find(|row| row.0 == operator) {
        Some(row) => row.1 += 1,
        None => rows.push((operator, 1)),
    }
}
