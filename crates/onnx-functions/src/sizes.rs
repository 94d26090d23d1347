//! Sizes of functions: what a call of each costs.

use onnx_ir::{CallGraph, FunctionId, Model, NodeId};
use onnx_schema::Registry;
use slotmap::SecondaryMap;

use crate::cost::Costs;
use crate::inline::{Calls, all_calls, graphs_of};

/// The size of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionSize {
    /// The function.
    pub function: FunctionId,
    /// Number of nodes of the model that call it.
    pub calls: u64,
    /// Number of nodes in the body, with those in nested graphs.
    pub nodes: u64,
    /// Number of nodes that inlining one call of it creates, those of calls in the body included: 2⁶⁴ - 1 for anything from that
    /// on. `None` if it calls itself, directly or through others, or a function that does.
    pub expanded: Option<u64>,
}

/// The sizes of all functions of a model, in file order. Computing them takes time linear in the model, however large
/// the expansion would be.
#[must_use]
pub fn function_sizes(model: &Model, registry: &Registry) -> Vec<FunctionSize> {
    let calls: Calls = all_calls(model, registry);
    let graph = CallGraph::of_calls(model, |node: NodeId| calls.get(node).copied());
    let costs = Costs::new(model, &calls, graph.callees_first());
    let endless = endless(model, &graph);
    let mut counts: SecondaryMap<FunctionId, u64> = SecondaryMap::new();
    for (_, &function) in &calls {
        if let Some(entry) = counts.entry(function) {
            *entry.or_default() += 1;
        }
    }
    let size = |&function: &FunctionId| FunctionSize {
        function,
        calls: counts.get(function).copied().unwrap_or_default(),
        nodes: graphs_of(model, function).map(|graph| model.nodes_in(graph).count() as u64).sum(),
        expanded: (!endless.contains_key(function)).then(|| costs.of_call(function)),
    };
    model.functions().iter().map(size).collect()
}

/// The functions from which calls lead into a cycle.
pub(crate) fn endless(model: &Model, graph: &CallGraph) -> SecondaryMap<FunctionId, ()> {
    let mut callers: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::new();
    for &caller in model.functions() {
        for (callee, _) in graph.callees(caller) {
            if let Some(entry) = callers.entry(callee) {
                entry.or_default().push(caller);
            }
        }
    }
    let mut endless = SecondaryMap::new();
    let mut open: Vec<FunctionId> = graph.cycles().map(|(function, _)| function).collect();
    while let Some(function) = open.pop() {
        if endless.insert(function, ()).is_none() {
            open.extend(callers.get(function).into_iter().flatten());
        }
    }
    endless
}
