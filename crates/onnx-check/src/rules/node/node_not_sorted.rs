//! The rule `node-not-sorted`: a node uses a value before the node that makes it.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::{Def, GraphId, Model, NodeId};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2312, "node-not-sorted", Severity::Error, "A node uses a value before the node that makes it.")
        .with_spec("IR: Graphs")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("node_not_sorted.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    for (index, input) in cx.node.inputs().enumerate() {
        let Some(value) = input else { continue };
        let Def::Output { node: producer, .. } = cx.model.value(value).def() else { continue };
        let Some(user) = ancestor_beside(cx.model, cx.id, producer) else { continue };
        if cx.model.is_before(producer, user) {
            continue;
        }
        let (id, name, is_alone) = (cx.id, cx.model.value(value).name(), cx.is_alone());
        cx.report(&RULE, |places| {
            let name = Quoted(places.str(name));
            let (message, help) = if producer == user {
                (format!("value {name} is made by the node that uses it"), "give the node another input")
            } else {
                let help = "sort the nodes, as `onnx check --fix` does; if that fails, the graph has a cycle";
                (format!("value {name} is used before it is made"), help)
            };
            Diagnostic::new(&RULE, places.input(id, index), message)
                .label(places.definition(value), "made here")
                .help(help)
                // The reference does not check the names of a standalone node.
                .beyond_reference(is_alone)
        });
    }
}

/// The node in the graph of `producer` that is `user` or contains it; `None` if neither graph contains the other, so
/// that the nodes are not ordered.
#[inline]
fn ancestor_beside(model: &Model, user: NodeId, producer: NodeId) -> Option<NodeId> {
    let graph = model.node(producer).graph();
    if model.node(user).graph() == graph { Some(user) } else { model.ancestor_in(user, graph) }
}

/// Sorts the nodes of every graph in which they are not, unless they form a cycle.
///
/// A graph that defines a name twice is not changed, because its order may decide which definition a node uses.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let graphs: Vec<GraphId> = model.all_graphs().filter(|&graph| !model.is_sorted(graph)).collect();
    let mut done = Vec::new();
    for graph in graphs {
        let outputs = model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten());
        let is_clear = outputs.copied().all(|output| !model.value(output).is_name_as_read());
        if is_clear && model.sort(graph).is_ok() {
            let name = Quoted(model.str(model.graph(graph).name()));
            done.push(format!("sorted the nodes of graph {name}"));
        }
    }
    done
}
