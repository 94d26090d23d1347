//! The plan of a run: an order of the nodes, a slot for each value, and the last use of each.
//!
//! All graphs of one root (the main graph, or the body of a function, with all graphs nested in it) share the slots of
//! one frame, so a capture is an ordinary operand. Each call of a function has a separate frame.

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Attribute, CallGraph, Callee, FunctionId, GraphId, Model, Node, NodeId, ValueId};
use onnx_schema::{Schema, SchemaRef};
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{Stopped, Symbol};
use slotmap::{SecondaryMap, SparseSecondaryMap};
use smallvec::SmallVec;

use super::constant::Weight;
use super::order::order;
use crate::cx::{REUSED_INPUTS, Stop};
use crate::fault::{self, Failure, FailureKind};
use crate::options::EvalOptions;
use crate::registry::{ControlFn, CustomKernel, Kernel, KernelFn, Kernels, kernel};

/// The least work that running a node counts as.
const NODE_STEPS: u64 = 768;
/// Nodes between two checks of the interrupt.
const WATCHED_NODES: usize = 1 << 10;

/// The graphs of a model that can run, with everything that running needs.
#[derive(Default)]
pub(super) struct Plan<'m> {
    pub(super) graphs: Vec<GraphPlan<'m>>,
    /// Number of slots of each root.
    pub(super) roots: Vec<usize>,
    pub(super) weights: Vec<Weight>,
    slots: SecondaryMap<ValueId, u32>,
    by_graph: SecondaryMap<GraphId, usize>,
}

impl Plan<'_> {
    /// The index of the plan of a graph.
    pub(super) fn index(&self, graph: GraphId) -> Option<usize> {
        self.by_graph.get(graph).copied()
    }
}

/// A graph: its nodes in the order in which they run.
pub(super) struct GraphPlan<'m> {
    pub(super) root: usize,
    pub(super) inputs: Vec<u32>,
    /// The values in the slots of the inputs.
    pub(super) formals: &'m [ValueId],
    pub(super) outputs: Vec<(u32, ValueId)>,
    /// Slots with the index of the weight that fills them.
    pub(super) weights: Vec<(u32, usize)>,
    pub(super) steps: Vec<Step<'m>>,
}

impl GraphPlan<'_> {
    /// Work that entering the graph counts as.
    pub(super) fn steps_to_enter(&self) -> u64 {
        NODE_STEPS.saturating_add((self.weights.len() + self.inputs.len() + self.outputs.len()) as u64)
    }
}

/// A node.
pub(super) struct Step<'m> {
    pub(super) id: NodeId,
    pub(super) node: &'m Node,
    pub(super) schema: Option<SchemaRef<'m>>,
    pub(super) action: Action,
    pub(super) inputs: SmallVec<[Option<u32>; 4]>,
    pub(super) outputs: SmallVec<[Option<u32>; 2]>,
    /// Work that running the node counts as, whatever it computes: its operands and lists of attributes are copied.
    pub(super) steps: u64,
    /// Slots whose values are not used after this node.
    pub(super) frees: SmallVec<[u32; 2]>,
    /// Which of the first inputs no other node uses, and this one only once: their memory may be reused.
    pub(super) takes: [bool; REUSED_INPUTS],
    /// Nested graphs by the name of their attribute.
    pub(super) graphs: SmallVec<[(Symbol, usize); 2]>,
}

impl Step<'_> {
    /// Finds the inputs whose values are not used after this node, nor twice by it.
    fn find_takes(&mut self) {
        // A function or a graph has values longer than the node begins.
        if !matches!(self.action, Action::Plain(_) | Action::Custom(_)) || !self.graphs.is_empty() {
            return;
        }
        for (index, takes) in self.takes.iter_mut().enumerate() {
            let slot = self.inputs.get(index).copied().flatten();
            let uses = self.inputs.iter().filter(|input| slot.is_some() && **input == slot).count();
            *takes = uses == 1 && slot.is_some_and(|slot| self.frees.contains(&slot));
        }
    }
}

/// The implementation that runs a node.
#[derive(Clone)]
pub(super) enum Action {
    Plain(KernelFn),
    Control(ControlFn),
    Custom(CustomKernel),
    /// A function, with the index of the plan of its body.
    Call(FunctionId, usize),
    /// Nothing does; the reason.
    Missing(String),
}

/// The planner: graphs are planned when something refers to them.
pub(super) struct Planner<'m, 'o> {
    model: &'m Model,
    options: &'o EvalOptions<'m>,
    plan: Plan<'m>,
    /// Graphs that are referred to and not planned yet: index of the plan, graph.
    open: Vec<(usize, GraphId)>,
}

impl<'m, 'o> Planner<'m, 'o> {
    pub(super) fn new(model: &'m Model, options: &'o EvalOptions<'m>) -> Self {
        Self { model, options, plan: Plan::default(), open: Vec::new() }
    }

    /// Plans the main graph; its plan is the first one.
    pub(super) fn main(mut self) -> Result<Plan<'m>, Failure> {
        self.root(self.model.main_graph());
        self.finish()
    }

    /// Plans a graph of one node; values from outside of the node are its inputs, if they are not constant.
    pub(super) fn node(mut self, node: NodeId) -> Result<Plan<'m>, Failure> {
        self.plan.roots.push(0);
        self.plan.graphs.push(GraphPlan::empty(0));
        let record = self.model.node(node);
        let inputs: Vec<ValueId> = record.inputs().flatten().collect();
        let inputs: Vec<u32> = inputs.into_iter().map(|value| self.slot(value, 0)).collect();
        let mut captured = Vec::new();
        if record.nested_graphs().next().is_some() {
            self.model.for_each_use_within(node, |value| captured.push(value));
        }
        for value in captured {
            self.weight(value, 0);
        }
        let step = self.step(node, 0);
        let outputs = record.outputs().iter().flatten();
        let outputs = outputs.map(|&value| (self.slot(value, 0), value)).collect();
        if let Some(plan) = self.plan.graphs.first_mut() {
            plan.inputs = inputs;
            plan.outputs = outputs;
            plan.steps.push(step);
        }
        self.finish()
    }

    fn finish(mut self) -> Result<Plan<'m>, Failure> {
        while let Some((index, graph)) = self.open.pop() {
            self.graph(index, graph)?;
        }
        // Only functions have frames beyond the first one.
        if self.plan.roots.len() > 1 {
            let is_planned = |function| self.plan.by_graph.contains_key(self.model.function(function).body());
            let calls = CallGraph::new(self.model, self.options.registry);
            if let Some((_, cycle)) = calls.cycles().find(|&(function, _)| is_planned(function)) {
                return Err(recursive(self.model, cycle.node));
            }
        }
        Ok(self.plan)
    }

    /// The index of the plan of a graph with a separate frame.
    fn root(&mut self, graph: GraphId) -> usize {
        if let Some(&index) = self.plan.by_graph.get(graph) {
            return index;
        }
        self.plan.roots.push(0);
        let root = self.plan.roots.len() - 1;
        self.refer(graph, root)
    }

    /// The index of the plan of a graph in a root.
    fn refer(&mut self, graph: GraphId, root: usize) -> usize {
        if let Some(&index) = self.plan.by_graph.get(graph) {
            return index;
        }
        let index = self.plan.graphs.len();
        self.plan.graphs.push(GraphPlan::empty(root));
        self.plan.by_graph.insert(graph, index);
        self.open.push((index, graph));
        index
    }

    /// The slot of a value in its root.
    fn slot(&mut self, value: ValueId, root: usize) -> u32 {
        if let Some(&slot) = self.plan.slots.get(value) {
            return slot;
        }
        let Some(count) = self.plan.roots.get_mut(root) else { return 0 };
        let slot = *count as u32;
        *count += 1;
        self.plan.slots.insert(value, slot);
        slot
    }

    /// Adds the constant of a value to those of a graph, if it has one.
    fn weight(&mut self, value: ValueId, index: usize) {
        let Some(constant) = self.model.value(value).initializer() else { return };
        let weight = self.plan.weights.len();
        self.plan.weights.push(Weight::new(std::sync::Arc::clone(constant)));
        let root = self.plan.graphs.get(index).map_or(0, |plan| plan.root);
        let slot = self.slot(value, root);
        if let Some(plan) = self.plan.graphs.get_mut(index) {
            plan.weights.push((slot, weight));
        }
    }

    fn graph(&mut self, index: usize, graph: GraphId) -> Result<(), Failure> {
        let root = self.plan.graphs.get(index).map_or(0, |plan| plan.root);
        let record = self.model.graph(graph);
        let inputs = record.inputs().iter().map(|&value| self.slot(value, root)).collect();
        let outputs: Vec<(u32, ValueId)> =
            record.outputs().iter().map(|output| (self.slot(output.value(), root), output.value())).collect();
        let initializers: Vec<ValueId> = self.model.initializers(graph).collect();
        for value in initializers {
            self.weight(value, index);
        }
        let order = order(self.model, graph).map_err(|cycle| cyclic(self.model, &cycle))?;
        let mut steps: Vec<Step<'m>> = Vec::with_capacity(order.len());
        for (at, node) in order.into_iter().enumerate() {
            self.watch(at).map_err(stopped)?;
            steps.push(self.step(node, root));
        }
        self.last_uses(graph, &mut steps).map_err(stopped)?;
        if let Some(plan) = self.plan.graphs.get_mut(index) {
            (plan.inputs, plan.outputs, plan.steps) = (inputs, outputs, steps);
            plan.formals = record.inputs();
        }
        Ok(())
    }

    /// Checks the interrupt at intervals of a loop over a graph. Small graphs are planned without a check: running them has one.
    fn watch(&self, index: usize) -> Result<(), Stopped> {
        if index % WATCHED_NODES == WATCHED_NODES - 1 {
            self.options.execution.interrupt.check()
        } else {
            Ok(())
        }
    }

    /// Records for each node the values of its graph that are not used after it.
    fn last_uses(&self, graph: GraphId, steps: &mut [Step<'m>]) -> Result<(), Stopped> {
        // Its cost is that of this graph: a model may have many.
        let mut last: SparseSecondaryMap<ValueId, usize, RandomState> = SparseSecondaryMap::default();
        for (at, step) in steps.iter().enumerate() {
            self.watch(at)?;
            for &output in step.node.outputs().iter().flatten() {
                last.insert(output, at);
            }
            self.model.for_each_use_within(step.id, |value| {
                if self.model.graph_of(value) == graph {
                    last.insert(value, at);
                }
            });
        }
        for output in self.model.graph(graph).outputs() {
            last.remove(output.value());
        }
        for (index, (value, at)) in last.into_iter().enumerate() {
            self.watch(index)?;
            if let (Some(step), Some(&slot)) = (steps.get_mut(at), self.plan.slots.get(value)) {
                step.frees.push(slot);
            }
        }
        // In an order that does not depend on hashes.
        steps.iter_mut().for_each(|step| step.frees.sort_unstable());
        steps.iter_mut().for_each(Step::find_takes);
        Ok(())
    }

    fn step(&mut self, id: NodeId, root: usize) -> Step<'m> {
        let node = self.model.node(id);
        let callee = self.model.callee(id, self.options.registry);
        let schema = callee.schema();
        let action = match callee {
            Callee::Standard(schema) => match kernel(schema.id()) {
                Some(Kernel::Plain(kernel)) => Action::Plain(kernel),
                Some(Kernel::Control(control)) => Action::Control(control),
                None => self.custom(node, || lacking(schema)),
            },
            Callee::Function(function) => {
                let record = self.model.function(function);
                let body = self.root(record.body());
                let root = self.plan.graphs.get(body).map_or(0, |plan| plan.root);
                for default in record.defaults.iter().filter_map(Attribute::as_graph) {
                    self.refer(default, root);
                }
                Action::Call(function, body)
            }
            Callee::NotImported => Action::Missing("the operator set of the node is not imported".to_owned()),
            Callee::Unknown { .. } => {
                self.custom(node, || "this version of the operator set does not have it".to_owned())
            }
            Callee::Unnamed | Callee::Custom(_) | Callee::Experimental | Callee::Undefined => {
                self.custom(node, String::new)
            }
        };
        let inputs = node.inputs().map(|value| value.map(|value| self.slot(value, root))).collect();
        let outputs = node.outputs().iter().map(|value| value.map(|value| self.slot(value, root))).collect();
        let mut graphs = SmallVec::new();
        for attribute in node.attributes() {
            if let Some(graph) = attribute.as_graph() {
                graphs.push((attribute.name(), self.refer(graph, root)));
            }
        }
        let steps = steps(node);
        let takes = [false; REUSED_INPUTS];
        Step { id, node, schema, action, inputs, outputs, steps, frees: SmallVec::new(), takes, graphs }
    }

    fn custom(&self, node: &Node, reason: impl FnOnce() -> String) -> Action {
        let [domain, op] = [node.domain(), node.op()].map(|name| self.model.str(name));
        let kernels = self.options.registry.extension::<Kernels>();
        let version = self.model.versions_in(node.graph()).get(node.domain()).unwrap_or(i64::MAX);
        let custom = kernels.and_then(|kernels| kernels.get(domain, op, version));
        custom.map_or_else(|| Action::Missing(reason()), Action::Custom)
    }
}

/// Work that running a node counts as.
fn steps(node: &Node) -> u64 {
    let items = |attribute: &Attribute| match attribute.value() {
        AttrValue::Floats(items) => items.len() as u64,
        AttrValue::Ints(items) => items.len() as u64,
        AttrValue::Strings(items) => items.len() as u64,
        AttrValue::Values(items) => items.len() as u64,
        AttrValue::Tensor(tensor) => elements_to_decode(tensor),
        AttrValue::Tensors(tensors) => tensors.iter().map(|tensor| elements_to_decode(tensor)).sum(),
        AttrValue::SparseTensor(sparse) => sparse.values.as_ref().map_or(0, elements_to_decode),
        _ => 1,
    };
    let attributes: u64 = node.attributes().iter().map(items).sum();
    let operands = node.inputs().len() + node.outputs().len();
    attributes.saturating_add(NODE_STEPS).saturating_add(operands as u64)
}

/// Number of elements that are decoded when a tensor is read; bytes of the file are shared.
fn elements_to_decode(tensor: &Tensor) -> u64 {
    match tensor.payload() {
        Payload::Raw(_) | Payload::Splat(_) => 1,
        _ => tensor.element_count().unwrap_or(0),
    }
}

/// Why an operator of the standard has no kernel, if there is a reason.
fn lacking(schema: &Schema) -> String {
    if schema.op() == onnx_schema::op::IMAGE_DECODER {
        return "it needs a build of the crate with the feature `image`".to_owned();
    }
    String::new()
}

impl GraphPlan<'_> {
    const fn empty(root: usize) -> Self {
        Self {
            root,
            inputs: Vec::new(),
            formals: &[],
            outputs: Vec::new(),
            weights: Vec::new(),
            steps: Vec::new(),
        }
    }
}

fn stopped(stopped: Stopped) -> Failure {
    Failure::of_stop(Stop::Interrupted(stopped), None, onnx_diag::Locus::model())
}

fn recursive(model: &Model, node: NodeId) -> Failure {
    let locus = onnx_ir::Places::new(model).node(node);
    let name = onnx_diag::Quoted(model.str(model.node(node).op()));
    let message = format!("the function {name} calls itself, directly or through others");
    Failure::new(FailureKind::Model, &fault::CYCLE, Some(node), locus, message)
}

fn cyclic(model: &Model, cycle: &onnx_ir::Cycle) -> Failure {
    let node = cycle.nodes.first().copied();
    let places = onnx_ir::Places::new(model);
    let locus = node.map_or_else(onnx_diag::Locus::model, |node| places.node(node));
    Failure::new(FailureKind::Model, &fault::CYCLE, node, locus, cycle.to_string())
}
