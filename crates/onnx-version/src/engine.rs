//! The conversion of the graphs of scopes that import the same version: the model and functions.
//!
//! Versions are passed one by one, so that all nodes of these scopes have one version whenever inference or the body of an
//! operator is needed. Both visit the whole model, so scopes are not converted one after the other. A node waits for the next version that changes its operator; nothing is done for versions that change
//! none.

use std::collections::{BTreeMap, HashMap, HashSet};

use onnx_check::InvalidNode;
use onnx_functions::{InlineOptions, expand, has_body};
use onnx_ir::{Callee, GraphId, Model, NodeId, OpsetImport, OpsetScope, Origin, ValueId, ValueTypes};
use onnx_schema::{Registry, Schema};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{Execution, Symbol};
use slotmap::SecondaryMap;

use crate::allowed;
use crate::convert::VersionError;
use crate::identity::{self, Listed};
use crate::plan::{StepChange, StepRecord, Unconvertible};
use crate::precondition;
use crate::reason::{Cause, VersionReason};
use crate::step::Step;
use crate::table::{Table, VersionChange};
use crate::types::Types;
use crate::{down, steps, up};

/// The conversion of a model to a version of one operator set.
pub(crate) struct Engine<'a> {
    pub(crate) set: Symbol,
    pub(crate) target: i64,
    pub(crate) registry: &'a Registry,
    pub(crate) execution: &'a Execution,
    pub(crate) table: &'a Table,
    /// The model in progress.
    pub(crate) model: Model,
    pub(crate) types: Types,
    /// Whether nodes were made after inference.
    pub(crate) is_stale: bool,
    /// The steps that changed nodes of the original model.
    pub(crate) records: Vec<StepRecord>,
    pub(crate) refusals: Vec<Unconvertible>,
    /// Nodes of the original model that have a refusal.
    pub(crate) refused: SecondaryMap<NodeId, ()>,
    /// Nodes of the original model whose step was refused before the body of the operator took their place.
    pub(crate) replaced: SecondaryMap<NodeId, Unconvertible>,
    /// Nodes whose operator no version defines.
    pub(crate) unknown: Vec<NodeId>,
    /// The nodes of the original model that new nodes come from.
    pub(crate) sources: SecondaryMap<NodeId, NodeId>,
    /// Nodes of bodies of operators, each with the version whose body it is, and the operator.
    pub(crate) in_bodies: Vec<(NodeId, i64, Symbol)>,
    /// Nodes that were scheduled once.
    pub(crate) seen: SecondaryMap<NodeId, ()>,
    /// The nodes that change at a version.
    pub(crate) due: BTreeMap<i64, Vec<NodeId>>,
}

/// A scope that imports versions, with its graph.
pub(crate) type Scope = (OpsetScope, GraphId);

/// The result of one step of one node.
struct Taken {
    node: NodeId,
    old: &'static Schema,
    to: Option<&'static Schema>,
    result: Result<(bool, Vec<NodeId>), VersionReason>,
}

impl Engine<'_> {
    /// Takes the nodes of scopes, each given with its graph, to the version.
    pub(crate) fn run(&mut self, scopes: &[Scope], from: i64) -> Result<(), VersionError> {
        if from == self.target {
            return Ok(());
        }
        let is_up = from < self.target;
        if !is_up && self.types.inference().is_none() {
            self.infer();
        }
        for node in self.nodes(scopes) {
            self.execution.interrupt.check()?;
            self.begin(node, from);
        }
        while let Some((boundary, mut nodes)) = if is_up { self.due.pop_first() } else { self.due.pop_last() }
        {
            self.execution.interrupt.check()?;
            self.import(scopes, boundary.saturating_sub(i64::from(is_up)));
            nodes.retain(|&node| self.model.get_node(node).is_some());
            let at = boundary.saturating_sub(i64::from(is_up));
            let (bodies, rest): (Vec<_>, Vec<_>) =
                nodes.into_iter().partition(|&node| !is_up && self.needs_body(node, boundary));
            if !bodies.is_empty() {
                self.due.entry(boundary).or_default().extend(rest);
                self.expand(scopes, &bodies, boundary)?;
                continue;
            }
            if self.types.inference().is_none() && rest.iter().any(|&node| self.needs_types(node, at)) {
                self.infer();
            }
            if self.is_stale && rest.iter().any(|&node| self.reads_new(node)) {
                self.infer();
            }
            let refused = self.attempt(&rest, at, is_up);
            if !refused.is_empty() {
                let expanded: SecondaryMap<NodeId, ()> = refused.iter().map(|&node| (node, ())).collect();
                let rest = rest.into_iter().filter(|&node| !expanded.contains_key(node));
                self.due.entry(boundary).or_default().extend(rest);
                self.expand(scopes, &refused, boundary)?;
            }
        }
        self.import(scopes, self.target);
        Ok(())
    }

    pub(crate) fn infer(&mut self) {
        self.types = self.types.renewed(&self.model, self.registry, self.execution);
        self.is_stale = false;
    }

    /// Whether the upward step of a node may read types: most versions only allow more, and change no node.
    fn needs_types(&self, node: NodeId, at: i64) -> bool {
        let new = onnx_schema::lookup(self.set, self.model.node(node).op(), at.saturating_add(1));
        let row = new.and_then(|new| self.table.row(new));
        row.is_none_or(|(kind, _)| matches!(kind, VersionChange::Adapted | VersionChange::Moved))
    }

    /// Whether a conversion made a node, or what it reads or its nested graphs return, so that inference has to be run again.
    fn reads_new(&self, node: NodeId) -> bool {
        let is_new = |value: ValueId| {
            let producer = self.model.value(value).producer();
            producer.is_some_and(|node| self.sources.contains_key(node)) && self.types.elem(value).is_none()
        };
        let record = self.model.node(node);
        let nested = record.attributes().iter().flat_map(|attribute| attribute.value().graphs());
        self.sources.contains_key(node)
            || record.inputs().flatten().any(is_new)
            || nested
                .flat_map(|&graph| self.model.graph(graph).outputs())
                .any(|output| is_new(output.value()))
    }

    /// The nodes of scopes, nested ones included.
    fn nodes(&self, scopes: &[Scope]) -> Vec<NodeId> {
        let scopes: HashSet<OpsetScope> = scopes.iter().map(|&(scope, _)| scope).collect();
        let graphs = self.model.all_graphs().filter(|&graph| scopes.contains(&self.model.scope(graph)));
        graphs.flat_map(|graph| self.model.nodes(graph)).collect()
    }

    /// Changes the version that scopes import. An expansion removes functions that only the expanded nodes named.
    fn import(&mut self, scopes: &[Scope], version: i64) {
        for &(scope, graph) in scopes {
            if self.model.get_graph(graph).is_some() {
                import(&mut self.model, scope, self.set, version);
            }
        }
    }

    /// Refuses the nodes of the operator set that are not valid in the version that their scope imports: what they compute is
    /// unknown, so that nothing can compute the same.
    pub(crate) fn refuse_invalid(&mut self, scopes: &BTreeMap<i64, Vec<Scope>>) -> Result<(), VersionError> {
        let versions: HashMap<OpsetScope, i64> = scopes
            .iter()
            .flat_map(|(&from, scopes)| scopes.iter().map(move |&(scope, _)| (scope, from)))
            .filter(|&(_, from)| from != self.target)
            .collect();
        for InvalidNode { node, finding, .. } in
            precondition::invalid_nodes(&self.model, self.registry, self.execution)?
        {
            let record = self.model.node(node);
            let version = versions.get(&self.model.scope(record.graph()));
            let Some(&from) = version.filter(|_| onnx_schema::normalize_domain(record.domain()) == self.set)
            else {
                continue;
            };
            let (op, target) = (self.model.str(record.op()).to_owned(), self.target);
            let to = if from < target { from.saturating_add(1) } else { from.saturating_sub(1) };
            let known = onnx_schema::lookup(self.set, record.op(), from);
            let since = known.map(Schema::since_version).or_else(|| first_version(self.set, record.op()));
            let reason = format!("it is not valid in version {from}, which is imported: {}", finding.message);
            let reason = VersionReason::new(Cause::Invalid, reason);
            self.refuse(Unconvertible { node, op, since: since.unwrap_or(from), to, target, reason });
        }
        Ok(())
    }

    /// Schedules a node of the model.
    fn begin(&mut self, node: NodeId, at: i64) {
        if self.refused.contains_key(node) {
            return;
        }
        let record = self.model.node(node);
        if onnx_schema::normalize_domain(record.domain()) != self.set {
            return;
        }
        match self.model.callee(node, self.registry) {
            Callee::Standard(_) => self.schedule(node, at),
            Callee::Unknown { .. } | Callee::Experimental | Callee::Undefined => self.undefined(node, at),
            Callee::Function(_) => {
                self.not_captured(node, at, "a function of the model", Some(Cause::Reference.help()));
            }
            Callee::Custom(_) => {
                self.not_captured(node, at, "an operator that the registry declares", None);
            }
            _ => {}
        }
    }

    /// A node that does not call a standard operator: it is kept, unless the version has a standard operator of its
    /// name, which would take precedence.
    fn not_captured(&mut self, node: NodeId, at: i64, callee: &str, help: Option<&'static str>) {
        let record = self.model.node(node);
        let op = record.op();
        let [domain, name] = [record.domain(), op].map(|symbol| self.model.str(symbol));
        let Some(standard) = onnx_schema::lookup(self.set, op, self.target) else { return };
        let declared = self.registry.declared(domain, name, self.target);
        if declared.is_some_and(|declared| declared.since_version() > standard.since_version()) {
            return;
        }
        let version = first_version(self.set, op).unwrap_or(self.target);
        let reason =
            format!("it calls {callee}, and the standard operator of that name would take its place");
        let reason = help.into_iter().fold(VersionReason::from(reason), VersionReason::with_help);
        let (op, target) = (name.to_owned(), self.target);
        // Downwards, no version between is known to prevent it.
        let to = if at < target { version.clamp(at.saturating_add(1), target) } else { target };
        self.refuse(Unconvertible { node, op, since: version, to, target, reason });
    }

    /// A node whose operator the imported version does not have: it is kept if no version has it. Otherwise the
    /// standard does not say what it means, so that nothing can have the same meaning in another version.
    fn undefined(&mut self, node: NodeId, at: i64) {
        let op = self.model.node(node).op();
        match first_version(self.set, op) {
            Some(since) => {
                let reason = format!("version {at}, which the model imports, does not have the operator");
                let op = self.model.str(op).to_owned();
                let to = if at < self.target { at.saturating_add(1) } else { at.saturating_sub(1) };
                let target = self.target;
                self.refuse(Unconvertible { node, op, since, to, target, reason: reason.into() });
            }
            None => self.unknown.push(node),
        }
    }

    /// Lets a node wait for the next version that changes its operator; `at` is its version.
    fn schedule(&mut self, node: NodeId, at: i64) {
        self.seen.insert(node, ());
        let Some(record) = self.model.get_node(node) else { return };
        if onnx_schema::normalize_domain(record.domain()) != self.set {
            return;
        }
        let Some(old) = onnx_schema::lookup(self.set, record.op(), at) else { return };
        let boundary = if at < self.target {
            let later = old.versions().iter().map(Schema::since_version);
            later.filter(|&since| since > old.since_version() && since <= self.target).min()
        } else {
            let since = old.since_version();
            // A body of a later version may be the only one.
            let is_expanded = is_without_form(old) && steps::find_lowering(old).is_none();
            let body = (since..=at).find(|&version| has_body(old, version)).filter(|_| is_expanded);
            (since > self.target).then(|| body.unwrap_or(since))
        };
        if let Some(boundary) = boundary {
            self.due.entry(boundary).or_default().push(node);
        }
    }

    /// Whether the body of an operator replaces a node, because older versions do not have the operator.
    fn needs_body(&self, node: NodeId, boundary: i64) -> bool {
        let schema = onnx_schema::lookup(self.set, self.model.node(node).op(), boundary);
        schema.is_some_and(|old| {
            is_without_form(old) && steps::find_lowering(old).is_none() && has_body(old, boundary)
        })
    }

    /// Takes nodes over a version that changes their operators. Returns those that are refused and have a body; nothing is
    /// changed then.
    fn attempt(&mut self, nodes: &[NodeId], at: i64, is_up: bool) -> Vec<NodeId> {
        let with_body = |node: NodeId| {
            let schema = onnx_schema::lookup(self.set, self.model.node(node).op(), at);
            !is_up && schema.is_some_and(|schema| has_body(schema, at))
        };
        let with_body: SecondaryMap<NodeId, ()> =
            nodes.iter().filter(|&&node| with_body(node)).map(|&node| (node, ())).collect();
        let saved = (!with_body.is_empty()).then(|| (self.model.clone(), self.types.changed()));
        let mut listed = Listed::default();
        // What is left undone when the work is ended early has no result.
        let interrupt = &self.execution.interrupt;
        let due = nodes.iter().take_while(|_| interrupt.check().is_ok());
        let taken: Vec<Taken> = due.filter_map(|&node| self.take(node, at, is_up, &mut listed)).collect();
        if let Some((model, types)) = saved {
            let refused = taken.iter().filter(|taken| taken.result.is_err()).map(|taken| taken.node);
            let refused: Vec<NodeId> = refused.filter(|&node| with_body.contains_key(node)).collect();
            if !refused.is_empty() {
                self.model = model;
                self.types.restore(types);
                self.remember(taken, at);
                return refused;
            }
        }
        listed.apply(&mut self.model);
        let next = if is_up { at.saturating_add(1) } else { at.saturating_sub(1) };
        for taken in taken {
            if interrupt.check().is_err() {
                break;
            }
            self.settle(taken, next);
        }
        Vec::new()
    }

    /// Remembers why steps are refused, in case the bodies that take their place are refused, too.
    fn remember(&mut self, taken: Vec<Taken>, at: i64) {
        for Taken { node, old, result, .. } in taken {
            if let Err(reason) = result {
                let (source, target) = (self.source(node), self.target);
                let (op, since, to) = (old.name().to_owned(), old.since_version(), at.saturating_sub(1));
                self.replaced.insert(source, Unconvertible { node: source, op, since, to, target, reason });
            }
        }
    }

    /// One step of one node; `None` if there is nothing to do.
    fn take(&mut self, node: NodeId, at: i64, is_up: bool, listed: &mut Listed) -> Option<Taken> {
        // A function of another node may have erased it.
        let op = self.model.get_node(node)?.op();
        let old = onnx_schema::lookup(self.set, op, at)?;
        let next = if is_up { at.saturating_add(1) } else { at.saturating_sub(1) };
        let new = onnx_schema::lookup(self.set, op, next);
        let revision = self.model.revision();
        let mut step = Step {
            model: &mut self.model,
            types: &mut self.types,
            node,
            old,
            new: new.unwrap_or(old),
            version: next,
            is_made: self.sources.contains_key(node),
            made: Vec::new(),
            listed,
        };
        let row = self.table.row(if is_up { new? } else { old });
        let result = match (is_up, row) {
            (true, Some((kind, _))) => up::take(&mut step, kind),
            (false, Some((_, down))) if !is_without_form(old) => down::take(&mut step, down),
            (false, _) => lower(&mut step),
            (true, None) => Err("the table of steps does not have the version".into()),
        };
        let made = step.made;
        let result = result.and_then(|()| self.check_new(node, old, &made, next));
        let result = result.map(|()| (!self.model.changes_since(&revision).is_empty(), made));
        if let Ok((true, made)) = &result {
            made.iter().chain([&node]).for_each(|&node| identity::drop_shardings(&mut self.model, node));
        }
        Some(Taken { node, old, to: new, result })
    }

    /// Checks that a version allows the nodes that a step makes, and the node itself if it has another operator now.
    fn check_new(
        &self,
        node: NodeId,
        old: &Schema,
        made: &[NodeId],
        version: i64,
    ) -> Result<(), VersionReason> {
        let is_renamed = self.model.get_node(node).is_some_and(|record| record.op() != old.op());
        let renamed = is_renamed.then_some(node);
        made.iter()
            .copied()
            .chain(renamed)
            .try_for_each(|new| allowed::check(&self.model, &self.types, new, (self.set, version)))
    }

    /// Checks that the version of the conversion allows the nodes of bodies that are left. Steps check types that a version
    /// does not allow any more; a body can have others from the start.
    pub(crate) fn check_bodies(&mut self) {
        if self.in_bodies.is_empty() || !self.refusals.is_empty() {
            return;
        }
        if self.is_stale {
            self.infer();
        }
        for (node, version, op) in std::mem::take(&mut self.in_bodies) {
            let found = allowed::check(&self.model, &self.types, node, (self.set, self.target));
            let Err(reason) = found else { continue };
            let (source, target) = (self.source(node), self.target);
            let (op, to) = (self.model.str(op).to_owned(), version.saturating_sub(1));
            self.refuse(Unconvertible { node: source, op, since: version, to, target, reason });
        }
    }

    /// Records the result of a step, and schedules the node and those that were made for it.
    fn settle(&mut self, taken: Taken, at: i64) {
        let Taken { node, old, to, result } = taken;
        let source = self.source(node);
        let op = old.name().to_owned();
        let since = old.since_version();
        let (is_changed, made) = match result {
            Ok(done) => done,
            Err(reason) => {
                let target = self.target;
                return self.refuse(Unconvertible { node: source, op, since, to: at, target, reason });
            }
        };
        self.is_stale |= !made.is_empty();
        if is_changed && source == node {
            let change = match self.model.get_node(node) {
                Some(record) if record.op() == old.op() && made.is_empty() => StepChange::Form,
                _ => StepChange::Replaced,
            };
            let to = to.map_or(at, Schema::since_version);
            self.records.push(StepRecord { node, op, since, to, change });
        }
        for new in made {
            self.sources.insert(new, source);
            self.schedule(new, at);
        }
        self.schedule(node, at);
    }

    pub(crate) fn refuse(&mut self, refusal: Unconvertible) {
        // The body of an operator is not in the model, so the reason why the step is refused is more helpful.
        let own = self.replaced.remove(refusal.node).filter(|own| own.to == refusal.to);
        let refusal = own.unwrap_or(refusal);
        // One reason for each node of the original model.
        if self.refused.insert(refusal.node, ()).is_none() {
            self.refusals.push(refusal);
        }
    }

    /// The node of the original model that a node comes from.
    pub(crate) fn source(&self, node: NodeId) -> NodeId {
        self.sources.get(node).copied().unwrap_or(node)
    }

    /// Replaces nodes by the bodies of their operators, in the version that the scopes have.
    fn expand(&mut self, scopes: &[Scope], nodes: &[NodeId], boundary: i64) -> Result<(), VersionError> {
        let wanted: SecondaryMap<NodeId, ()> = nodes.iter().map(|&node| (node, ())).collect();
        let key = |model: &Model, node: NodeId| {
            let record = model.node(node);
            (record.op(), record.name(), model.node_origin(node))
        };
        let known: HashMap<(Symbol, Symbol, Origin), NodeId> =
            nodes.iter().map(|&node| (key(&self.model, node), self.source(node))).collect();
        let options =
            InlineOptions::default().with_registry(self.registry).with_execution(self.execution.clone());
        let infer_options =
            InferOptions::default().with_registry(self.registry).with_execution(self.execution.clone());
        let types = |model: &Model| -> Box<dyn ValueTypes> { Box::new(infer(model, &infer_options)) };
        let done = expand(&mut self.model, &options, types, |_, node, _| wanted.contains_key(node))?;
        for (call, reason) in done.kept() {
            let op = self.model.str(call.function.1).to_owned();
            let is_known = |value: ValueId| self.types.elem(value).is_some();
            let operands = self.model.get_node(call.node);
            let cause = match operands.is_none_or(|record| record.inputs().flatten().all(is_known)) {
                true => Cause::NoForm,
                false => Cause::TypeUnknown,
            };
            let reason = VersionReason::new(cause, reason.to_string());
            let to = boundary.saturating_sub(1);
            let (node, target) = (self.source(call.node), self.target);
            self.refuse(Unconvertible { node, op, since: boundary, to, target, reason });
        }
        for &node in nodes.iter().filter(|&&node| self.model.get_node(node).is_none()) {
            if !self.sources.contains_key(node) {
                let op = done.calls.iter().find(|call| call.node == node);
                let op = op.map(|call| self.model.str(call.function.1).to_owned()).unwrap_or_default();
                let change = StepChange::Expanded;
                self.records.push(StepRecord { node, op, since: boundary, to: boundary, change });
            }
        }
        self.is_stale = true;
        for node in self.nodes(scopes) {
            if self.seen.contains_key(node) {
                continue;
            }
            let derived = match self.model.node_origin(node) {
                Origin::Derived(id) => self.model.derivation(id),
                _ => None,
            };
            let from = derived.and_then(|derived| derived.sources.first());
            let source = from.and_then(|from| known.get(&(from.op, from.name, from.origin)));
            if let (Some(from), Some(&source)) = (from, source) {
                let op = from.op;
                self.sources.insert(node, source);
                self.in_bodies.push((node, boundary, op));
                self.schedule(node, boundary);
            }
        }
        Ok(())
    }
}

/// The version that introduces an operator.
fn first_version(set: Symbol, op: Symbol) -> Option<i64> {
    onnx_schema::versions(set, op).iter().map(Schema::since_version).min()
}

/// Whether the version before that of a schema does not have the operator, or deprecates it.
fn is_without_form(schema: &'static Schema) -> bool {
    let version = schema.since_version().saturating_sub(1);
    let older = onnx_schema::lookup(schema.domain(), schema.op(), version);
    older.is_none_or(|older| older.is_deprecated() && !schema.is_deprecated())
}

/// Replaces a node whose operator the older version does not have by nodes of other operators.
fn lower(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match steps::find_lowering(step.old) {
        Some(lower) => lower(step),
        None => Err(VersionReason::new(
            Cause::NoForm,
            format!(
                "version {} introduced the operator, and no other operators of version {} compute it",
                step.old.since_version(),
                step.version
            ),
        )),
    }
}

/// Imports a version, in a model or function that imports another one.
fn import(model: &mut Model, scope: OpsetScope, set: Symbol, version: i64) {
    let change = |imports: &mut Vec<OpsetImport>| {
        // A model of a format without imports has version 1 of the operators.
        if imports.iter().all(|import| import.domain() != set) {
            imports.push(OpsetImport::new(set, version));
        }
        imports
            .iter_mut()
            .filter(|import| import.domain() == set && import.version() != version)
            .for_each(|import| import.set_version(version));
    };
    match scope {
        OpsetScope::Model => change(&mut model.info_mut().opset_imports),
        OpsetScope::Function(function) => change(&mut model.function_mut(function).opset_imports),
    }
}
