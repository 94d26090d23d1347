//! The walk over graphs: one pass in order, with an explicit stack for nested graphs and calls.

mod bind;
mod bodies;
pub(crate) mod call;
pub(crate) mod control;
mod declared_types;
mod frame;
mod node;
mod single;
pub(crate) mod state;
mod update;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{FunctionId, GraphId, Model, NodeId, OpsetScope, ValueId};
use onnx_types::{Stopped, Symbol, Type, Watch};
use slotmap::{SecondaryMap, SparseSecondaryMap};

use crate::cx::Out;
use crate::options::InferOptions;
use crate::registry::{Custom, Rules};
use crate::result::Inference;
use crate::ty::Ty;
use bodies::Bodies;
use call::Memo;
use frame::{Args, FactScope, Frame, Runs};
use state::State;

/// Number of visits of nodes between two checks of the interrupt.
const WATCHED_NODES: u64 = 64;

/// Functions whose bodies are being visited. It costs what a visit does, whatever the number of functions.
type Active = SparseSecondaryMap<FunctionId, (), RandomState>;

/// One run.
pub(crate) struct Engine<'m> {
    pub(crate) state: State<'m>,
    /// The rules of packs.
    custom: HashMap<(Symbol, Symbol), Custom, RandomState>,
    /// Whether the operators that onnxruntime adds are known.
    has_onnxruntime: bool,
    /// For each cycle of calls, the node that closes it.
    pub(crate) cycles: Vec<NodeId>,
    frames: Vec<Frame<'m>>,
    memo: Memo,
    /// The functions whose bodies are being visited.
    active: Active,
    /// What rules say about outputs, kept for its memory.
    outs: Vec<Out>,
    /// How many visits of functions have begun.
    calls: u32,
    /// How many more nodes may be visited.
    left: usize,
    /// Visits so far, each with the operands and results of its node.
    pub(crate) work: u64,
    pub(crate) interface: Interface,
    watch: Watch,
    /// Set if the run ends without a result.
    pub(crate) stopped: Option<Stopped>,
}

/// What the declarations of the main graph say as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interface {
    /// Symbols that the inputs declare.
    input_symbols: HashMap<Symbol, (), RandomState>,
    /// Values that are declared several times, with another type than the first one.
    repeated: SecondaryMap<ValueId, Arc<Type>>,
}

impl<'m> Engine<'m> {
    /// A run over a model; `before` is the result that it continues.
    pub(crate) fn new(model: &'m Model, options: &'m InferOptions<'m>, before: Option<Inference>) -> Self {
        let rules = options.registry.extension::<Rules>();
        let custom = rules.map(|rules| rules.resolve(model.names())).unwrap_or_default();
        let has_onnxruntime = rules.is_some_and(|rules| rules.onnxruntime);
        let left = model
            .node_count()
            .saturating_mul(options.execution.limits.visits_per_node)
            .saturating_add(100_000);
        let (variables, interface, before) = match before {
            Some(mut before) => {
                let known = (std::mem::take(&mut before.variables), std::mem::take(&mut before.interface));
                (known.0, known.1, Some(before))
            }
            None => (state::variables(model, options), Interface::default(), None),
        };
        let mut state = State::new(model, options, variables);
        if let Some(mut before) = before {
            state.facts = before.facts.take_intervals();
            (state.table, state.fresh, state.conditional) = (before.table, before.fresh, before.conditional);
            (state.exprs, state.imported, state.callers) = (before.exprs, before.imported, before.callers);
            state.named = before.named;
            state.dependents = before.dependents;
            state.named.begin(model.names());
            state.earlier = Some((before.facts, before.failures));
        }
        Self {
            state,
            custom,
            has_onnxruntime,
            cycles: Vec::new(),
            frames: Vec::new(),
            memo: Memo::default(),
            active: Active::default(),
            outs: Vec::new(),
            calls: 0,
            left,
            work: 0,
            interface,
            watch: Watch::new(&options.execution, "infer", model.node_count() as u64, WATCHED_NODES),
            stopped: None,
        }
    }

    /// Counts a visit. Returns `true` if the run is to end without a result.
    fn is_stopped(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.watch.work(1).err();
        }
        self.stopped.is_some()
    }

    /// Infers the main graph and everything in it.
    pub(crate) fn run(&mut self) {
        let graph = self.state.model.main_graph();
        self.state.table.reserve(self.state.model.value_count());
        self.report_recursion();
        self.state.bodies = Bodies::new(self.state.model, self.state.options.registry);
        self.declare_inputs(graph);
        self.enter_main(graph);
        self.drive(0);
        self.end_functions();
    }

    /// Infers a single node.
    pub(crate) fn run_node(&mut self, node: NodeId) {
        let model = self.state.model;
        let record = model.node(node);
        for value in record.inputs().flatten() {
            self.declare_value(value);
        }
        self.report_recursion();
        let scope = self.scope_of(record.graph());
        self.frames.push(Frame::single(record.graph(), node, scope));
        self.drive(0);
    }

    /// Infers the body of a function. An input without a type is absent.
    pub(crate) fn run_function(&mut self, function: FunctionId, inputs: &[Option<Type>], args: Args<'m>) {
        let model = self.state.model;
        let record = model.function(function);
        let body = record.body();
        let mut given = inputs.iter();
        for &value in model.graph(body).inputs() {
            let ty = given.next().and_then(Option::as_ref);
            self.state.set_absent(value, ty.is_none());
            let ty = ty.map_or(Ty::Unknown, |ty| self.state.declared(ty));
            self.state.bind(value, control::Known { ty, content: None });
        }
        self.active.insert(function, ());
        self.declare_initializers(body);
        self.report_recursion();
        self.frames.push(Frame::new(model, body, FactScope { args, call: 1, runs: Runs::Always }));
        self.drive(0);
    }

    /// Visits nodes until no more than `depth` graphs are open.
    fn drive(&mut self, depth: usize) {
        while self.frames.len() > depth
            && let Some(frame) = self.frames.last_mut()
        {
            match frame.next(self.state.model, &self.state.table) {
                Some(_) if self.is_stopped() => self.frames.truncate(depth),
                Some(node) if self.left > 0 => {
                    self.left = self.left.saturating_sub(1);
                    self.visit(node);
                }
                Some(_) => self.give_up(depth),
                None => self.leave(),
            }
        }
    }

    /// Ends the visit of the node of the outermost graph, whose nested graphs and functions need too long. What was found
    /// in them need not hold in every run.
    fn give_up(&mut self, depth: usize) {
        let node = self.frames.first().and_then(Frame::current);
        let what = "nested graphs and functions need too many visits";
        self.state.exceeded("visits_per_node", node, what);
        if let Some(node) = node {
            let record = self.state.model.node(node);
            record.nested_graphs().for_each(|graph| self.state.forget_graph(graph));
            record.outputs().iter().flatten().for_each(|&value| self.state.table.clear(value));
        }
        self.active.clear();
        self.frames.truncate(depth);
    }

    /// Closes the innermost graph and resumes the inference rule that entered it.
    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.state.end_visit(frame.graph);
            frame.sizes.iter().for_each(|&size| self.state.facts.remove_size(size));
            if let Some(node) = self.frames.last().and_then(Frame::current) {
                self.resume(node);
            }
        }
    }

    fn enter_main(&mut self, graph: GraphId) {
        let scope = self.scope_of(graph);
        self.frames.push(Frame::new(self.state.model, graph, scope));
    }

    /// The scope of a graph that inference starts in. In the body of a function, or in a graph nested in one, no call is
    /// known.
    fn scope_of(&self, graph: GraphId) -> FactScope<'m> {
        match self.state.model.scope(graph) {
            OpsetScope::Function(_) => FactScope { args: None, call: 1, runs: Runs::Always },
            OpsetScope::Model => FactScope { args: Some(std::rc::Rc::from([])), call: 0, runs: Runs::Always },
        }
    }

    /// The node whose inference rule will resume, for loci.
    fn caller(&self) -> Option<NodeId> {
        self.frames.last().and_then(Frame::current)
    }
}
