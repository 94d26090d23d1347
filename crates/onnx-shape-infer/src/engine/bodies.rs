//! Results for the values in function bodies: what all calls have in common.
//!
//! A visit of a body holds for one call only, and the table keeps the last one. Each visit is therefore joined into a
//! separate table, which becomes the result if every call of the model was visited.

use onnx_ir::{Aspects, Edits, FunctionId, GraphId, Model, NodeId, OpsetScope, ValueId};
use onnx_schema::Registry;
use onnx_types::{Dim, ElemType};
use slotmap::SecondaryMap;

use super::Engine;
use super::state::State;
use crate::ty::Ty;

/// What the visits of function bodies have in common.
#[derive(Default)]
pub(crate) struct Bodies {
    joined: SecondaryMap<ValueId, Ty>,
    /// The graphs that contain calls, themselves or in graphs nested in them.
    with_calls: SecondaryMap<GraphId, ()>,
    /// The graphs with calls that were entered since the visit of their node began.
    entered: SecondaryMap<GraphId, ()>,
    /// The nodes of the main graph that are calls or contain calls.
    callers: SecondaryMap<NodeId, ()>,
    /// Whether a call, or a node with graphs that may contain calls, was visited.
    is_touched: bool,
    /// Whether a call that may be executed was not visited.
    is_incomplete: bool,
}

impl Bodies {
    /// For runs that visit a part of the calls.
    pub(super) fn unused() -> Self {
        Self { is_incomplete: true, ..Self::default() }
    }

    /// Prepares for the calls of a model. Training graphs are not inferred, and graphs in defaults of functions are in
    /// scopes that no visit has.
    pub(super) fn new(model: &Model, registry: &Registry) -> Self {
        let mut bodies = Self::default();
        if model.functions().is_empty() {
            return bodies;
        }
        let has_graph = |&function: &FunctionId| {
            model.function(function).defaults.iter().any(|default| !default.value().graphs().is_empty())
        };
        bodies.is_incomplete = !model.info().training.is_empty() || model.functions().iter().any(has_graph);
        for graph in model.all_graphs() {
            for node in model.nodes(graph) {
                // The hash lookup comes first: most nodes call no function.
                if model.function_called(model.node(node)).is_some()
                    && model.callee(node, registry).function().is_some()
                {
                    bodies.note_call(model, node);
                }
            }
        }
        bodies
    }

    fn note_call(&mut self, model: &Model, call: NodeId) {
        let mut next = Some(call);
        while let Some(node) = next {
            let graph = model.node(node).graph();
            if graph == model.main_graph() {
                self.callers.insert(node, ());
            }
            let is_new = self.with_calls.insert(graph, ()).is_none();
            next = model.owner_node(graph).filter(|_| is_new);
        }
    }

    /// Notes that the visit of a node begins.
    pub(super) fn begin(&mut self, model: &Model, node: NodeId) {
        if model.functions().is_empty() {
            return;
        }
        for graph in model.node(node).nested_graphs() {
            self.is_touched = true;
            self.entered.remove(graph);
        }
    }

    /// Notes that a graph is visited.
    pub(super) fn enter(&mut self, graph: GraphId) {
        if self.with_calls.contains_key(graph) {
            self.entered.insert(graph, ());
        }
    }

    /// Notes that the visit of a node ends: a graph with calls that was not entered may have calls that nothing is known of.
    pub(super) fn end(&mut self, model: &Model, node: NodeId) {
        if !self.with_calls.is_empty() {
            let is_missed =
                |graph: GraphId| self.with_calls.contains_key(graph) && !self.entered.contains_key(graph);
            self.is_incomplete |= model.node(node).nested_graphs().any(is_missed);
        }
    }

    /// Notes a call, and whether its function is not visited.
    pub(super) const fn call(&mut self, is_missed: bool) {
        self.is_touched = true;
        self.is_incomplete |= is_missed;
    }
}

impl State<'_> {
    /// Joins the visit of a body that has ended with those before it.
    pub(super) fn join_body(&mut self, body: GraphId) {
        if self.bodies.is_incomplete {
            return;
        }
        for value in values(self.model, body) {
            let found = self.in_all_calls(self.table.ty(value));
            match self.bodies.joined.get_mut(value) {
                Some(before) => *before = joined(before, &found),
                None => drop(self.bodies.joined.insert(value, found)),
            }
        }
    }

    /// A type without the sizes that have symbols of a visit, as these mean another size in each call.
    fn in_all_calls(&self, ty: Ty) -> Ty {
        let is_of_function = |graph: GraphId| matches!(self.model.scope(graph), OpsetScope::Function(_));
        let is_of_visit = |symbol: &_| self.origin_graph(*symbol).is_some_and(is_of_function);
        let general =
            |dim: Dim| if self.exprs.symbols(dim).iter().any(is_of_visit) { Dim::Unknown } else { dim };
        match ty {
            Ty::Tensor(elem, Some(dims)) => Ty::Tensor(elem, Some(dims.into_iter().map(general).collect())),
            Ty::Tensor(..) => ty,
            // The sizes of members are rarely of use, and would have to be looked for in nested types.
            Ty::Other(_) | Ty::Unknown => ty.without_shape(),
        }
    }
}

impl Engine<'_> {
    /// Forgets the results in function bodies after an update that concerned a call: they are those of all calls, and an
    /// update visits some. A new contradiction can be the reason why a call has other arguments.
    pub(super) fn update_functions(&mut self, edits: &Edits, is_outdated: impl Fn(NodeId) -> bool) {
        let state = &mut self.state;
        let has_call = state.bodies.is_touched || state.callers.keys().any(is_outdated);
        let has_training = edits.model().contains(Aspects::INTERFACE);
        if has_call || has_training || !state.failures.is_empty() {
            state.callers.clear();
            self.forget_functions();
        }
    }

    /// Replaces what the last visits of function bodies found by what holds in all calls, if that is known.
    pub(super) fn end_functions(&mut self) {
        self.forget_functions();
        let state = &mut self.state;
        if state.bodies.is_incomplete || !state.failures.is_empty() || self.stopped.is_some() {
            return;
        }
        for (value, ty) in &state.bodies.joined {
            state.table.set(value, ty);
        }
        state.callers = std::mem::take(&mut state.bodies.callers);
    }
}

/// What two calls have in common about a value.
fn joined(a: &Ty, b: &Ty) -> Ty {
    match (a, b) {
        (Ty::Tensor(elem, left), Ty::Tensor(other, right)) => {
            let elem = if elem == other { *elem } else { ElemType::Undefined };
            let same = |(&a, &b): (&Dim, &Dim)| if a == b { a } else { Dim::Unknown };
            let dims = left.as_deref().zip(right.as_deref()).filter(|(a, b)| a.len() == b.len());
            Ty::Tensor(elem, dims.map(|(a, b)| a.iter().zip(b).map(same).collect()))
        }
        (a, b) if a == b => a.clone(),
        _ => Ty::Unknown,
    }
}

/// The inputs of a graph and the outputs of its nodes, with those of nested graphs.
fn values(model: &Model, graph: GraphId) -> impl Iterator<Item = ValueId> + '_ {
    model.graphs_in(graph).flat_map(|graph| {
        let outputs = model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten());
        model.graph(graph).inputs().iter().chain(outputs).copied()
    })
}
