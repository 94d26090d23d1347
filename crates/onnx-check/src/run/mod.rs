//! The one traversal that serves all rules.
//!
//! Graphs are visited as the reference does: the inputs and initializers of a graph first, then its nodes in order, each
//! with the graphs nested in it before its outputs. Whatever a rule could need about a node is looked up once.

mod node;
mod non_dataflow;
mod parts;
mod signature;

use std::cell::OnceCell;

use onnx_diag::{Diagnostic, Locus, Policy, STOPPED, Sink};
use onnx_ir::{
    CallGraph, Constant, Event, Function, FunctionId, GraphId, Model, NodeId, OpsetScope, OwnInfo, Owner,
    ValueId,
};
use onnx_types::{Stopped, Type, Watch};

use crate::cx::{Cx, GraphCx, TensorHolder, TensorPlace, TypeCx, TypePlace};
use crate::declaration_cx::{self, Devices, FunctionCx, Holder, MetadataList};
use crate::external;
use crate::features::{Feature, Features};
use crate::imports::Imports;
use crate::names::{Mark, Names};
use crate::options::{CheckOptions, Part};
use crate::rules::{function, graph, model as model_rules, ty};

pub(crate) use signature::invalid_nodes;

/// The first IR version in which models have functions; in older ones the reference does not check them.
pub(crate) const FIRST_IR_WITH_FUNCTIONS: i64 = 8;

/// Finds everything that is wrong with a model or a part of one, as far as the rules go.
pub(crate) fn run(model: &Model, part: Part, options: &CheckOptions) -> Sink {
    let mut run = Run::new(model, part, options);
    match part {
        Part::Model => run.model(),
        _ => run.part(part),
    }
    run.finish();
    run.into_sink()
}

/// What a model uses although its version of the format does not have it.
pub(crate) fn used_too_early(model: &Model) -> Vec<Feature> {
    let options = CheckOptions::default();
    let mut run = Run::new(model, Part::Model, &options);
    run.model();
    run.features.too_early().into_iter().map(|(feature, _)| feature).collect()
}

/// Reports every defect of the functions of a model, without the model around them. The reference never checks
/// standalone functions. Diagnostics are added to those in `sink`.
pub(crate) fn functions(model: &Model, options: &CheckOptions, sink: Sink) -> Sink {
    let mut run = Run::new(model, Part::Model, options);
    run.cx.sink = sink;
    run.cx.is_unchecked = true;
    run.functions();
    run.check_files();
    run.into_sink()
}

struct Run<'a> {
    cx: Cx<'a>,
    names: Names,
    has_functions: bool,
    features: Features,
    devices: Devices<'a>,
    /// For each graph that is open: the names before it.
    marks: Vec<Mark>,
    /// For each graph and node that is open: whether the reference looks around it.
    unchecked: Vec<bool>,
    /// Which functions call which, once a function is visited.
    calls: OnceCell<CallGraph>,
    watch: Watch,
    /// Why the run is to end without findings.
    stopped: Option<Stopped>,
}

/// How many nodes are visited between two checks of the interrupt.
const WATCHED_NODES: u64 = 64;

impl<'a> Run<'a> {
    fn new(model: &'a Model, part: Part, options: &'a CheckOptions) -> Self {
        Self {
            cx: Cx::new(model, part, options),
            names: Names::new(model.names().len()),
            has_functions: !model.functions().is_empty(),
            features: Features::new(model.info().ir_version),
            devices: declaration_cx::devices(&model.info().configurations),
            marks: Vec::new(),
            unchecked: Vec::new(),
            calls: OnceCell::new(),
            watch: Watch::new(&options.execution, "check", model.node_count() as u64, WATCHED_NODES),
            stopped: None,
        }
    }

    /// Runs the rules about what all units have together.
    fn finish(&mut self) {
        if self.stopped.is_none() {
            self.too_early();
            self.check_files();
        }
        if !self.cx.options.rules.is_empty() {
            self.custom_rules();
        }
    }

    /// Runs the rules of other crates.
    fn custom_rules(&mut self) {
        let (model, part) = (self.cx.model, self.cx.part);
        let options: &CheckOptions = self.cx.options;
        self.cx.is_unchecked = false;
        let nodes: Vec<NodeId> = match part {
            Part::Model => model.all_graphs().flat_map(|graph| model.nodes(graph)).collect(),
            Part::Graph => model.nodes_in(model.main_graph()).collect(),
            Part::Function(function) => model.nodes_in(model.function(function).body()).collect(),
            Part::Node(node) => vec![node],
            Part::Attributes(_) | Part::Contents(_) | Part::Inputs => Vec::new(),
        };
        for rule in &options.rules {
            if !rule.is_about_nodes() {
                if part == Part::Model && !self.is_stopped() {
                    rule.check_model(&mut self.cx);
                }
                continue;
            }
            for &node in &nodes {
                if self.is_stopped() {
                    return;
                }
                rule.check_node(&mut self.cx, node);
            }
        }
    }

    fn check_files(&mut self) {
        if self.stopped.is_none() {
            self.stopped = external::check(&mut self.cx).err();
        }
    }

    /// Counts a visit of a node or function. Returns `true` if the run is to end without findings.
    fn is_stopped(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.watch.work(1).err();
        }
        self.stopped.is_some()
    }

    /// What was found; if the run was stopped, only that.
    fn into_sink(self) -> Sink {
        let Some(stopped) = self.stopped else { return self.cx.sink };
        let mut sink = Sink::with(Policy::new(), self.cx.options.caps());
        sink.report(Diagnostic::new(&STOPPED, Locus::model(), format!("checking was stopped: {stopped}")));
        sink
    }

    fn model(&mut self) {
        for entry in model_rules::ENTRIES {
            (entry.check)(&mut self.cx);
        }
        let model = self.cx.model;
        let info = model.info();
        self.metadata(MetadataList::Symbols(&info.metadata), Holder::Model);
        self.opset(&info.opset_imports, None);
        self.non_dataflow();
        let imports = Imports { versions: model.versions_of(OpsetScope::Model).clone(), number: 0 };
        self.graph(model.main_graph(), &imports);
        self.cx.is_unchecked = true;
        for initialization in info.training.iter().filter_map(|step| step.initialization) {
            if model.get_graph(initialization).is_some() {
                self.graph(initialization, &imports);
            }
        }
        self.cx.is_unchecked = info.ir_version < FIRST_IR_WITH_FUNCTIONS;
        self.functions();
    }

    fn functions(&mut self) {
        let model = self.cx.model;
        for (index, &function) in model.functions().iter().enumerate() {
            if self.is_stopped() {
                return;
            }
            self.function(function, u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1));
        }
    }

    /// What a function declares.
    fn declarations(&mut self, id: FunctionId, record: &'a Function) {
        let model = self.cx.model;
        let calls = self.calls.get_or_init(|| CallGraph::new(model, &self.cx.options.registry));
        for entry in function::ENTRIES {
            (entry.check)(&mut FunctionCx { cx: &mut self.cx, id, function: record, calls });
        }
        self.features_of_function(id, record);
        self.metadata(MetadataList::Symbols(&record.metadata), Holder::Function(id));
        self.opset(&record.opset_imports, Some(id));
    }

    fn function(&mut self, id: FunctionId, number: u32) {
        let record = self.cx.model.function(id);
        self.declarations(id, record);
        let imports = Imports::new(&record.opset_imports, number);
        self.cx.function = Some(id);
        self.graph(record.body(), &imports);
        // The reference does not check the defaults of attributes.
        let was_unchecked = std::mem::replace(&mut self.cx.is_unchecked, true);
        for default in &record.defaults {
            self.contents_of(TensorHolder::Default(id, default.name()), default);
            for &graph in default.value().graphs() {
                self.graph(graph, &imports);
            }
        }
        self.cx.is_unchecked = was_unchecked;
        self.cx.function = None;
    }

    /// Visits a graph with everything nested in it. Training algorithms see the names of the main graph, so they are visited
    /// before it ends.
    fn graph(&mut self, root: GraphId, imports: &Imports) {
        let model = self.cx.model;
        for event in model.walk(root).with_algorithms() {
            if matches!(event, Event::Node(_)) && self.is_stopped() {
                return;
            }
            self.event(event, imports);
        }
    }

    #[inline]
    fn event(&mut self, event: Event, imports: &Imports) {
        match event {
            Event::Enter(graph) => {
                self.marks.push(self.names.enter());
                self.unchecked.push(self.cx.is_unchecked);
                // The reference does not check training algorithms.
                self.cx.is_unchecked |= self.cx.model.graph(graph).owner() == Owner::Algorithm;
                self.begin(graph);
            }
            Event::Node(node) => {
                self.unchecked.push(self.cx.is_unchecked);
                self.node(node, imports);
            }
            Event::After(node) => {
                self.cx.is_unchecked = self.unchecked.pop().unwrap_or_default();
                self.outputs(node);
            }
            Event::Leave(_) => {
                self.cx.is_unchecked = self.unchecked.pop().unwrap_or_default();
                if let Some(mark) = self.marks.pop() {
                    self.names.leave(mark);
                }
            }
        }
    }

    /// Everything about a graph but its nodes.
    fn begin(&mut self, id: GraphId) {
        let model = self.cx.model;
        let record = model.graph(id);
        for entry in graph::ENTRIES {
            (entry.check)(&mut GraphCx { cx: &mut self.cx, id, graph: record });
        }
        self.metadata_of_graph(id);
        record.inputs().iter().for_each(|&input| self.value(input));
        for initializer in model.initializers(id) {
            if self.is_stopped() {
                return;
            }
            self.initializer(initializer);
        }
        self.types(id);
    }

    fn initializer(&mut self, id: ValueId) {
        let record = self.cx.model.value(id);
        // The name of an initializer that is the default of an input is bound by the input.
        if record.constant().is_some() {
            self.value(id);
        }
        let place = TensorPlace::of(TensorHolder::Initializer(id));
        match record.initializer().map(AsRef::as_ref) {
            Some(Constant::Dense(tensor)) => self.tensor(tensor, place),
            Some(Constant::Sparse(sparse)) => self.sparse(sparse, place),
            None => {}
        }
    }

    /// The types that a graph declares for its inputs, its outputs and other values.
    fn types(&mut self, id: GraphId) {
        let model = self.cx.model;
        let record = model.graph(id);
        // A function only names its inputs and outputs.
        if !matches!(record.owner(), Owner::Function(_)) {
            for (index, &input) in record.inputs().iter().enumerate() {
                self.ty(model.ty(input), None, TypePlace::Input(id, index));
            }
            for (index, output) in record.outputs().iter().enumerate() {
                let (ty, other) = declared(output.own(), model.ty(output.value()));
                self.ty(ty, other, TypePlace::Output(id, index));
            }
        }
        for entry in model.value_info(id) {
            let (ty, other) = declared(entry.own(), model.ty(entry.value()));
            if ty.is_some() {
                self.ty(ty, other, TypePlace::Info(id, entry.value()));
            }
        }
    }

    #[inline]
    fn ty(&mut self, ty: Option<&'a Type>, other: Option<&'a Type>, place: TypePlace) {
        self.features_of_type(ty, place);
        let mut cx = TypeCx { cx: &mut self.cx, ty, place, other };
        for entry in ty::ENTRIES {
            (entry.check)(&mut cx);
        }
    }
}

/// The type that an output or an entry of `value_info` declares, and what the value itself says where that is another.
fn declared<'a>(own: Option<&'a OwnInfo>, value: Option<&'a Type>) -> (Option<&'a Type>, Option<&'a Type>) {
    match own {
        Some(own) => (own.ty.as_deref(), value),
        None => (value, None),
    }
}

/// Whether `graph` is directly the body of a function, where the reference tells the names of the default domain apart.
pub(crate) fn is_function_body(model: &Model, graph: GraphId) -> bool {
    matches!(model.graph(graph).owner(), Owner::Function(_))
}
