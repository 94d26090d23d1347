//! A patch: an edit that coexists with the code that it replaces until it is proved.

use std::collections::HashSet;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_ir::{
    Attribute, Builder, Constant, CopyMap, EditError, FunctionId, GraphId, Model, NodeId, Position, ValueId,
};
use onnx_schema::op;
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Symbol};

use crate::assumption::Exactness;
use crate::collect::{Collected, Recorded, Region, collect};
use crate::cx::{PassCx, PassOptions};
use crate::equivalence::Equivalence;
use crate::extract::extract;
use crate::keys::KeySet;
use crate::query::Reason;
use crate::structure::{check, no_version};
use crate::used_elements::used_elements;
use crate::verdict::Verdict;

/// The parts of a patch.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) pass: String,
    pub(crate) class: Exactness,
    pub(crate) taps: Vec<ValueId>,
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) initializers: Vec<ValueId>,
    pub(crate) functions: Vec<FunctionId>,
    pub(crate) pairs: Vec<(ValueId, ValueId)>,
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) sources: Vec<NodeId>,
    pub(crate) versions: Vec<(Symbol, i64)>,
    /// The names of the nodes that the patch has copied.
    pub(crate) copied_names: HashSet<Symbol, RandomState>,
}

impl Draft {
    pub(crate) fn new(pass: &str, class: Exactness) -> Self {
        Self {
            pass: pass.to_owned(),
            class,
            taps: Vec::new(),
            nodes: Vec::new(),
            initializers: Vec::new(),
            functions: Vec::new(),
            pairs: Vec::new(),
            recorded: Vec::new(),
            sources: Vec::new(),
            versions: Vec::new(),
            copied_names: HashSet::default(),
        }
    }

    /// The guards and conditions that the edit depends on.
    pub(crate) fn assumed(&self) -> impl Iterator<Item = &str> {
        self.recorded.iter().filter_map(|recorded| match recorded {
            Recorded::Guard(guard) => Some(guard.as_str()),
            Recorded::Granted(condition) => Some(condition.name()),
            _ => None,
        })
    }

    /// The version that the patch sets for an operator set.
    pub(crate) fn version(&self, domain: Symbol) -> Option<i64> {
        self.versions.iter().find(|(other, _)| *other == domain).map(|&(_, version)| version)
    }
}

/// A level of a proof. Each checks a property that the next ones rely on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The options of the run exclude the edit: its class, or the [idioms](crate::Idioms) that it would break.
    Class,
    /// The structure of the model is valid after the edit, and random operators are not made, merged or dropped.
    Structure,
    /// The checker reports no new error.
    Rules,
    /// Inferred types do not contradict each other, and those of the interface are not less precise.
    Types,
    /// Both sides compute equal values.
    Values,
    /// The whole model computes equal outputs before and after a pipeline; see [`prove_models`](crate::prove_models).
    Model,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Class => "class",
            Self::Structure => "structure",
            Self::Rules => "rules",
            Self::Types => "types",
            Self::Values => "values",
            Self::Model => "model",
        })
    }
}

/// The facts that were proved about a committed patch.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The result of comparing values.
    pub verdict: Verdict,
    /// Whether the verdict is that of an equal claim earlier in the same context.
    pub is_cached: bool,
}

/// The kinds of refusals, by what other options would change about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The edit is refused with all options that have its class and its level.
    #[default]
    Other,
    /// The options do not [select](crate::PassOptions::selects) a source of the edit, or a node that it would erase.
    NotSelected,
    /// The edit makes a node of an operator that is not known to be deterministic:
    /// [`PassOptions::allow_untested`](crate::PassOptions::allow_untested), or a declaration of the operator that says it.
    Undeclared,
    /// The results could not be compared: [`PassOptions::allow_untested`](crate::PassOptions::allow_untested).
    Untested,
}

/// A reason, as a clause, with its kind.
#[derive(Clone, Debug)]
pub(crate) struct RefusalReason {
    pub(crate) kind: RefusalKind,
    pub(crate) text: String,
}

impl RefusalReason {
    pub(crate) fn new(kind: RefusalKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// That a source of an edit, or a node that it would erase, is not selected.
    pub(crate) fn not_selected() -> Self {
        Self::new(RefusalKind::NotSelected, "a source of the edit is not among the nodes that are selected")
    }

    /// That results could not be compared.
    pub(crate) fn untested(why: &str) -> Self {
        Self::new(RefusalKind::Untested, format!("the results could not be compared: {why}"))
    }
}

impl From<String> for RefusalReason {
    fn from(text: String) -> Self {
        Self::new(RefusalKind::Other, text)
    }
}

/// Why a patch was not committed. The model is as it was before the patch.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the edit `{pass}` was refused ({level}): {reason}")]
pub struct Refusal {
    /// The name of the pass.
    pub pass: String,
    /// The first level that fails.
    pub level: Level,
    /// What other options would change about it.
    pub kind: RefusalKind,
    /// The reason, as a clause; a counterexample for [`Level::Values`].
    pub reason: String,
    /// The result of comparing values, if that was possible.
    pub verdict: Option<Verdict>,
    /// The nodes that the edit is derived from: operator and name.
    pub sources: Vec<(String, String)>,
}

impl Refusal {
    /// A refusal without a comparison and without sources.
    pub(crate) fn new(pass: &str, level: Level, reason: impl Into<RefusalReason>) -> Self {
        let RefusalReason { kind, text: reason } = reason.into();
        Self { pass: pass.to_owned(), level, kind, reason, verdict: None, sources: Vec::new() }
    }

    /// The same, with the result of comparing values.
    pub(crate) fn with_verdict(self, verdict: Option<Verdict>) -> Self {
        Self { verdict, ..self }
    }

    /// Returns `true` if the options do not [select](crate::PassOptions::selects) a source of the edit, or a node that it would
    /// erase.
    #[must_use]
    pub fn is_outside_selection(&self) -> bool {
        self.kind == RefusalKind::NotSelected
    }
}

/// An edit under construction; [`PassCx::patch`] begins one.
///
/// New nodes are part of the model at once, next to the nodes that they replace. Nothing uses them until
/// [`Patch::commit`], which proves the edit and then redirects the uses; a patch that is refused or dropped leaves the model
/// as it was. The answers of the methods that query facts are recorded as the assumptions of the edit.
pub struct Patch<'p, 'm> {
    pub(crate) cx: &'p mut PassCx<'m>,
    pub(crate) draft: Draft,
    pub(crate) is_done: bool,
}

impl<'p, 'm> Patch<'p, 'm> {
    pub(crate) fn new(cx: &'p mut PassCx<'m>, pass: &str, class: Exactness) -> Self {
        Self { cx, draft: Draft::new(pass, class), is_done: false }
    }

    /// The model, with the new nodes.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.cx.model()
    }

    /// The options of the run.
    #[must_use]
    pub const fn options(&self) -> &PassOptions<'m> {
        self.cx.options()
    }

    /// Sets the class of the edit, where it depends on what the pass finds.
    pub const fn set_class(&mut self, class: Exactness) {
        self.draft.class = class;
    }

    /// Names a node that the new nodes are derived from. Diagnostics about new nodes name the first one, the journal all.
    pub fn source(&mut self, node: NodeId) {
        if self.model().get_node(node).is_some() && !self.draft.sources.contains(&node) {
            self.draft.sources.push(node);
        }
    }

    /// Names a value at which the replaced computation begins: the equivalence has it as an input.
    pub fn tap(&mut self, value: ValueId) {
        if !self.draft.taps.contains(&value) {
            self.draft.taps.push(value);
        }
    }

    pub(crate) fn record(&mut self, recorded: Recorded) {
        if !self.draft.recorded.contains(&recorded) {
            self.draft.recorded.push(recorded);
        }
    }

    /// Makes new nodes at an insertion point. `make` may only add nodes through the builder.
    ///
    /// # Errors
    ///
    /// Returns the error of `make`, or [`EditError::Gone`] if the insertion point is gone.
    pub fn build<T, E: From<EditError>>(
        &mut self,
        at: Position,
        make: impl FnOnce(&mut Builder<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = Neighbors::of(self.cx.model(), at).ok_or(EditError::Gone)?;
        let is_there = |node: &NodeId| self.cx.model.get_node(*node).is_some();
        let sources: Vec<NodeId> = self.draft.sources.iter().copied().filter(is_there).collect();
        let pass = self.draft.pass.clone();
        let mut build = self.cx.model.build_at(at);
        if !sources.is_empty() {
            build = build.derive(&pass, &sources);
        }
        for &(domain, version) in &self.draft.versions {
            build = build.with_version(domain, version);
        }
        let made = make(&mut build);
        self.collect(&before);
        made
    }

    /// Records the nodes and initializers that are new.
    pub(crate) fn collect(&mut self, before: &Neighbors) {
        let model = self.cx.model();
        let mut at = match before.prev {
            Some(prev) => model.get_node(prev).and_then(|node| node.next()),
            None => model.graph(before.graph).first(),
        };
        let mut nodes = Vec::new();
        while let Some(node) = at.filter(|&node| Some(node) != before.next) {
            nodes.push(node);
            at = model.node(node).next();
        }
        let mut initializers = Vec::new();
        if model.graph(before.graph).initializer_slots() != before.slots {
            // New initializers are at the end of the list.
            let all: Vec<ValueId> = model.initializers(before.graph).collect();
            let added = model.graph(before.graph).initializer_slots().saturating_sub(before.slots);
            let begin = all.len().saturating_sub(added);
            initializers.extend_from_slice(all.get(begin..).unwrap_or_default());
        }
        self.draft.nodes.extend(nodes);
        self.draft.initializers.extend(initializers);
    }

    /// Makes a constant: an initializer, or a `Constant` node where the graph cannot have initializers.
    ///
    /// # Errors
    ///
    /// Returns the reason if the insertion point is gone, or if a `Constant` of the version in scope cannot have this
    /// element type.
    pub fn new_constant(&mut self, at: Position, tensor: Tensor) -> Result<ValueId, Reason> {
        let before = Neighbors::of(self.cx.model(), at).ok_or(EditError::Gone)?;
        let root = self.cx.model().root(before.graph);
        let model = self.cx.model();
        let is_function = matches!(model.graph(root).owner(), onnx_ir::Owner::Function(_));
        // Before version 4 of the format, every initializer is an input.
        if is_function || model.info().ir_version < 4 {
            return self.new_constant_node(at, tensor);
        }
        let value = self.cx.model.add_initializer(before.graph, Symbol::EMPTY, Constant::Dense(tensor));
        self.draft.initializers.push(value);
        Ok(value)
    }

    /// Makes a `Constant` node.
    ///
    /// # Errors
    ///
    /// Returns the reason if the insertion point is gone, or if a `Constant` of the version in scope cannot have this
    /// element type.
    pub fn new_constant_node(&mut self, at: Position, tensor: Tensor) -> Result<ValueId, Reason> {
        let model = self.cx.model();
        let graph = Neighbors::of(model, at).ok_or(EditError::Gone)?.graph;
        if !makes_constants_of(model, graph, tensor.elem()) {
            let version = model.versions_in(graph).get(Symbol::EMPTY).unwrap_or(0);
            return Err(Reason::new(format!("no `Constant` of version {version} is of {}", tensor.elem())));
        }
        let made = self
            .build(at, |build| build.op(op::CONSTANT, []).attr(onnx_schema::attr::VALUE, tensor).output());
        made.map_err(Reason::from)
    }

    /// Makes a node like an existing one, next to it, with other inputs, and returns its outputs.
    ///
    /// # Errors
    ///
    /// Returns an error if the node is gone, or holds graphs.
    pub fn like(
        &mut self,
        node: NodeId,
        at: Position,
        inputs: &[Option<ValueId>],
    ) -> Result<Vec<Option<ValueId>>, EditError> {
        let record = self.model().get_node(node).ok_or(EditError::Gone)?;
        if let Some(graph) = record.nested_graphs().next() {
            return Err(EditError::AlreadyOwned { graph });
        }
        let present: Vec<bool> = record.outputs().iter().map(Option::is_some).collect();
        let (domain, op) = (record.domain(), record.op());
        let attributes: Vec<Attribute> = record.attributes().to_vec();
        let overload = self.model().str(record.overload()).to_owned();
        self.build(at, |build| {
            let mut new = build.call_symbol(domain, op).overload(&overload);
            for &input in inputs {
                new = new.input(input);
            }
            for attribute in attributes {
                new = new.attribute(attribute);
            }
            new.outputs_if(&present)
        })
    }

    /// Copies the nodes and initializers of a graph to an insertion point; `map` maps its inputs, and gets the copies
    /// of values.
    ///
    /// # Errors
    ///
    /// See [`Model::copy_nodes`].
    pub fn copy_nodes(&mut self, graph: GraphId, at: Position, map: &mut CopyMap) -> Result<(), EditError> {
        let before = Neighbors::of(self.cx.model(), at).ok_or(EditError::Gone)?;
        self.cx.count_node_names();
        let copied = self.cx.model.copy_nodes(graph, at, map);
        self.cx.forget_references();
        self.collect(&before);
        self.cx.rename_copies(&copied?, &mut self.draft.copied_names);
        Ok(())
    }

    /// Replaces a value by another one in all its uses when the patch is committed.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        self.draft.pairs.push((old, new));
    }

    /// Changes the version of an operator set that the model imports when the patch is committed. New nodes have the form of
    /// the new version: [`build`](Self::build) makes it. The proof shows that nodes that the patch does not replace mean the
    /// same in both versions.
    pub fn set_version(&mut self, domain: Symbol, version: i64) {
        let domain = onnx_schema::normalize_domain(domain);
        self.draft.versions.retain(|(other, _)| *other != domain);
        self.draft.versions.push((domain, version));
    }

    /// Like [`set_version`](Self::set_version), if the model imports an older version: so that a new node can use an operator
    /// that a version has added. Returns the version in force after the patch.
    ///
    /// Nodes that stay must mean the same in the new version, which runs show: the patch is refused where a schema changes and the
    /// options end before [`Level::Values`]. A pass that is to do the same at all levels does not raise versions; the command `onnx
    /// convert` and `onnx_version` do that for a whole model.
    ///
    /// # Errors
    ///
    /// Returns the reason if the operator set does not have the version.
    pub fn raise_opset(&mut self, domain: Symbol, version: i64) -> Result<i64, Reason> {
        let domain = onnx_schema::normalize_domain(domain);
        let current = self.draft.version(domain).or_else(|| self.model().opset_version(domain));
        if let Some(current) = current.filter(|&current| current >= version) {
            return Ok(current);
        }
        if !onnx_schema::opset_versions(domain).is_some_and(|versions| versions.contains(&version)) {
            return Err(no_version(self.model(), domain, version).into());
        }
        self.set_version(domain, version);
        Ok(version)
    }

    /// The nodes that the patch has made.
    #[must_use]
    pub fn new_nodes(&self) -> &[NodeId] {
        &self.draft.nodes
    }

    /// The nodes that a commit would erase, users before producers.
    ///
    /// # Errors
    ///
    /// Returns the reason if the structure of the model excludes the patch.
    pub fn erased(&mut self) -> Result<Vec<NodeId>, Reason> {
        let references = self.cx.references();
        let plan = check(self.model(), &self.draft, &self.cx.options, &references);
        let plan = plan.map_err(|reason| Reason::new(reason.text))?;
        Ok(plan.dying)
    }

    /// The claim of the patch.
    ///
    /// # Errors
    ///
    /// Returns the reason if it cannot be expressed, such as an unknown type.
    pub fn equivalence(&mut self) -> Result<Equivalence, String> {
        self.extract(false)
    }

    /// The claim. If the options allow guards, those of the types of its inputs are recorded: they restrict the runs.
    pub(crate) fn extract(&mut self, with_constants: bool) -> Result<Equivalence, String> {
        let collected = self.collect_claim(with_constants)?;
        self.in_region(with_constants, |region| extract(region, &collected))
    }

    /// What the claim is about, with the guards that it depends on recorded.
    pub(crate) fn collect_claim(&mut self, with_constants: bool) -> Result<Collected, String> {
        // Queries need not name the guards that hold in every run; runs that violate them say nothing about the edit.
        for relation in self.cx.inference().discharged(self.cx.model()) {
            self.record(Recorded::Relation(relation));
        }
        let collected = self.in_region(with_constants, collect)?;
        let count = self.draft.recorded.len();
        collected.inputs.iter().for_each(|&input| self.record_guards(input));
        if self.draft.recorded.len() == count {
            return Ok(collected);
        }
        self.in_region(with_constants, collect)
    }

    /// Calls a function with the region of the claim.
    pub(crate) fn in_region<R>(&self, with_constants: bool, function: impl FnOnce(&Region<'_>) -> R) -> R {
        let cx = &*self.cx;
        let content = |value| cx.inference.content(value).cloned();
        let used = used_elements(cx.model(), &self.draft.recorded, &content);
        function(&Region {
            model: cx.model(),
            exprs: cx.inference().exprs(),
            known: &|value| cx.known(value),
            taps: &self.draft.taps,
            pairs: &self.draft.pairs,
            recorded: &self.draft.recorded,
            used: &used,
            own: (&self.draft.initializers, &self.draft.nodes),
            class: self.draft.class,
            versions: &self.draft.versions,
            data: cx.options.data,
            registry: cx.options.registry,
            max_nodes: cx.options.execution.limits.proof_nodes,
            interrupt: &cx.options.execution.interrupt,
            with_constants,
        })
    }

    /// Drops the new nodes, initializers and functions.
    fn undo(&mut self) {
        let model = &mut *self.cx.model;
        erase_nodes(model, &self.draft.nodes);
        for &value in &self.draft.initializers {
            let _ = model.erase_value(value);
        }
        for &function in &self.draft.functions {
            let _ = model.remove_function(function);
        }
    }
}

/// Erases nodes that only others of them use, users first whatever their order: that of a function's body is free.
fn erase_nodes(model: &mut Model, nodes: &[NodeId]) {
    let mut own: KeySet<NodeId> = KeySet::default();
    for &node in nodes {
        own.insert(node, ());
    }
    let mut open = nodes.to_vec();
    while let Some(node) = open.pop() {
        if model.get_node(node).is_none() {
            continue;
        }
        let mut producers = Vec::new();
        model.for_each_use_within(node, |value| producers.extend(model.value(value).producer()));
        // A node that is used is kept until its last user is erased.
        if model.erase_node(node).is_ok() {
            open.extend(producers.into_iter().filter(|&producer| own.contains_key(producer)));
        }
    }
    let left: Vec<NodeId> = nodes.iter().copied().filter(|&node| model.get_node(node).is_some()).collect();
    let Some(&first) = left.first() else { return };
    // The remaining nodes form a cycle, which the placeholder breaks.
    let graph = model.node(first).graph();
    let placeholder = model.add_initializer(graph, Symbol::EMPTY, Constant::Dense(Tensor::scalar(0_i64)));
    for &node in &left {
        let outputs = model.node(node).outputs().to_vec();
        for output in outputs.into_iter().flatten() {
            model.replace_uses_where(output, placeholder, |_, _| true);
        }
    }
    for node in left {
        // Nothing uses it any more.
        let _ = model.erase_node(node);
    }
    let _ = model.erase_value(placeholder);
}

impl Drop for Patch<'_, '_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.undo();
        }
    }
}

impl fmt::Debug for Patch<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draft.fmt(f)
    }
}

/// The insertion point of new nodes before they are made.
pub(crate) struct Neighbors {
    graph: GraphId,
    prev: Option<NodeId>,
    next: Option<NodeId>,
    slots: usize,
}

impl Neighbors {
    pub(crate) fn of(model: &Model, at: Position) -> Option<Self> {
        let (graph, prev, next) = match at {
            Position::Start(graph) => (graph, None, model.get_graph(graph)?.first()),
            Position::End(graph) => (graph, model.get_graph(graph)?.last(), None),
            Position::Before(node) => {
                let record = model.get_node(node)?;
                (record.graph(), record.prev(), Some(node))
            }
            Position::After(node) => {
                let record = model.get_node(node)?;
                (record.graph(), Some(node), record.next())
            }
        };
        let slots = model.graph(graph).initializer_slots();
        Some(Self { graph, prev, next, slots })
    }
}

/// Whether a `Constant` of the version in scope of a graph makes tensors of an element type: the first version has floats only.
pub(crate) fn makes_constants_of(model: &Model, graph: GraphId, elem: ElemType) -> bool {
    let version = model.versions_in(graph).get(Symbol::EMPTY).unwrap_or(0);
    let schema = onnx_schema::lookup(Symbol::EMPTY, op::CONSTANT, version);
    let types = schema.and_then(|schema| Some(schema.types_of(schema.outputs().first()?)));
    types.is_some_and(|types| types.contains_tensor(elem))
}
