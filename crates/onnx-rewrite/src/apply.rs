//! The application of a set of rules to a model, node by node.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Model, NodeId};
use onnx_pass::passes::Report;
use onnx_pass::{PassCx, Patch, Proof, Reason, Refusal};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::ast::Rule;
use crate::evaluate::{Scratch, evaluate};
use crate::matching::RuleMatch;
use crate::pattern::Pattern;
use crate::rule_set::RuleSet;
use crate::{condition, effective, replace};

/// Edits for each node of the model at the beginning, after which the application ends.
const MAX_EDITS_PER_NODE: usize = 16;

/// Number of uses from which on a value is not one inside of a pattern, unless a rule states that it is shared.
const MANY_USES: usize = 64;

/// Times that the users of nodes with more uses are visited again.
const MAX_SWEEPS: usize = 16;

/// The result of one attempt to apply a rule at a node.
pub(crate) enum Attempt {
    Edited(Vec<NodeId>),
    Missed(Reason),
    Refused(Refusal),
}

/// Tries the matches of a rule at a node in order; `finish` commits the patch, or only verifies it.
pub(crate) fn attempt(
    cx: &mut PassCx<'_>,
    pattern: &Pattern,
    node: NodeId,
    scratch: &mut Scratch,
    finish: fn(Patch<'_, '_>) -> Result<Proof, Box<Refusal>>,
) -> Attempt {
    const MAX_MATCHES: usize = 8;
    let source =
        effective::Source { model: cx.model(), inference: Some(cx.inference()), data: cx.options().data };
    let found: Vec<RuleMatch> = pattern.at(source, node).take(MAX_MATCHES).collect();
    let mut missed = Reason::from("the left side does not match");
    for mut found in found {
        let rule = &pattern.rule;
        let mut patch = cx.patch(&rule.name, rule.class);
        patch.source(node);
        found.nodes().for_each(|node| patch.source(node));
        for &(var, _) in &rule.from.inputs {
            found.value(var).into_iter().for_each(|value| patch.tap(value));
            if let Some(crate::matching::Bound::Rest(values)) = found.bound.get(var) {
                values.iter().flatten().for_each(|&value| patch.tap(value));
            }
        }
        let prepared = found
            .read
            .clone()
            .into_iter()
            .try_for_each(|value| patch.try_constant(value).map(|_| ()))
            .and_then(|()| evaluate(rule, &mut found, &mut patch, scratch))
            .and_then(|()| condition::check(rule, &found, &mut patch))
            .and_then(|()| replace::replace(rule, &found, node, &mut patch, scratch));
        match prepared {
            Err(reason) => missed = reason,
            Ok(mut nodes) => {
                let affected = neighbors(patch.model(), &found, node);
                return match finish(patch) {
                    Ok(_) => {
                        nodes.extend(affected);
                        Attempt::Edited(nodes)
                    }
                    Err(refusal) => Attempt::Refused(*refusal),
                };
            }
        }
    }
    Attempt::Missed(missed)
}

/// Why the options or the version in scope exclude a rule at a node, if they do.
pub(crate) fn excluded(cx: &PassCx<'_>, rule: &Rule, node: NodeId) -> Option<String> {
    let record = cx.model().get_node(node)?;
    let version = cx.model().versions_in(record.graph()).get(Symbol::EMPTY).unwrap_or(0);
    if version < rule.since {
        return Some(format!("it needs version {} of the operator set, the model has {version}", rule.since));
    }
    if rule.class > cx.options().class {
        return Some(format!("its edits are of class {}, which is not allowed", rule.class));
    }
    (!cx.options().selects(node)).then(|| "the node is not selected".to_owned())
}

/// The nodes that an edit at a node may affect: producers of the operands, which lose uses, and users of the results. Of an
/// inner node with many users, the node itself stands for them.
fn neighbors(model: &Model, found: &RuleMatch, root: NodeId) -> Vec<NodeId> {
    let mut affected = Vec::new();
    for node in found.nodes() {
        affected
            .extend(model.node(node).inputs().flatten().filter_map(|value| model.value(value).producer()));
        if node == root || !has_many_users(model, node) {
            affected.extend(users(model, node));
        } else {
            affected.push(node);
        }
    }
    affected
}

/// Returns `true` if the results of a node have more than [`MANY_USES`] uses.
fn has_many_users(model: &Model, node: NodeId) -> bool {
    let outputs = model.node(node).outputs().iter().flatten();
    outputs.map(|&value| model.value(value).uses().len()).fold(0, usize::saturating_add) > MANY_USES
}

/// The nodes that read the outputs of a node.
pub(crate) fn users(model: &Model, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    model.node(node).outputs().iter().flatten().flat_map(|&value| model.consumers(value))
}

/// The state of an application.
pub(crate) struct Work<'a> {
    rules: &'a RuleSet,
    queue: VecDeque<NodeId>,
    queued: SecondaryMap<NodeId, ()>,
    /// Nodes with many users, which are visited again when the queue is empty: if each edit near such a node queued them,
    /// the edits of its users would take quadratic time.
    wide: Vec<NodeId>,
    /// Times that the users of such nodes may still be queued.
    sweeps: usize,
    /// Rules that were refused at a node are not tried there again.
    refused: HashSet<(usize, NodeId), RandomState>,
    scratch: Scratch,
    pub(crate) report: Report,
    pub(crate) max_edits: usize,
}

impl<'a> Work<'a> {
    pub(crate) fn new(rules: &'a RuleSet, cx: &PassCx<'_>) -> Self {
        let model = cx.model();
        let mut work = Self {
            rules,
            queue: VecDeque::new(),
            queued: SecondaryMap::new(),
            wide: Vec::new(),
            sweeps: MAX_SWEEPS,
            refused: HashSet::default(),
            scratch: rules.scratch(cx),
            report: Report::default(),
            max_edits: model.node_count().saturating_add(1).saturating_mul(MAX_EDITS_PER_NODE),
        };
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            work.push(model, node);
        }
        work
    }

    /// The next node to visit.
    pub(crate) fn next(&mut self, model: &Model) -> Option<NodeId> {
        if self.queue.is_empty() && self.sweeps > 0 {
            self.sweeps = self.sweeps.saturating_sub(1);
            let mut seen: HashSet<NodeId, RandomState> = HashSet::default();
            let is_new = |node: &NodeId| model.get_node(*node).is_some() && seen.insert(*node);
            let wide: Vec<NodeId> = std::mem::take(&mut self.wide).into_iter().filter(is_new).collect();
            wide.into_iter().for_each(|node| users(model, node).for_each(|user| self.push(model, user)));
        }
        let node = self.queue.pop_front()?;
        self.queued.remove(node);
        Some(node)
    }

    fn push_users(&mut self, model: &Model, node: NodeId) {
        if has_many_users(model, node) {
            self.wide.push(node);
        } else {
            users(model, node).for_each(|user| self.push(model, user));
        }
    }

    fn push(&mut self, model: &Model, node: NodeId) {
        let Some(record) = model.get_node(node) else { return };
        let has_rules = self.rules.index.has_root(model.str(record.op()))
            || self.rules.functions.iter().any(|function| function.is_tried_at(model, node));
        if has_rules && self.queued.insert(node, ()).is_none() {
            self.queue.push_back(node);
        }
    }

    pub(crate) fn visit(&mut self, cx: &mut PassCx<'_>, node: NodeId) {
        let Some(record) = cx.model().get_node(node) else { return };
        if !cx.options().selects(node) {
            return;
        }
        let version = cx.model().versions_in(record.graph()).get(Symbol::EMPTY).unwrap_or(0);
        for number in self.rules.index.at(cx.model(), node) {
            let Some(pattern) = self.rules.patterns.get(number) else { continue };
            let is_allowed = version >= pattern.rule.since && pattern.rule.class <= cx.options().class;
            if !is_allowed || self.refused.contains(&(number, node)) {
                continue;
            }
            let attempt = attempt(cx, pattern, node, &mut self.scratch, |patch| patch.commit());
            if self.is_done(cx, node, number, attempt) {
                return;
            }
        }
        for (index, function) in self.rules.functions.iter().enumerate() {
            let number = self.rules.patterns.len().saturating_add(index);
            let is_allowed = function.class() <= cx.options().class && function.is_tried_at(cx.model(), node);
            if !is_allowed || self.refused.contains(&(number, node)) {
                continue;
            }
            let attempt = function.attempt(cx, node, &self.rules.costs);
            if self.is_done(cx, node, number, attempt) {
                return;
            }
        }
    }

    /// Records an attempt; returns `true` if the model was edited, so that the node may be erased.
    fn is_done(&mut self, cx: &PassCx<'_>, node: NodeId, number: usize, attempt: Attempt) -> bool {
        match attempt {
            Attempt::Missed(_) => false,
            Attempt::Refused(refusal) => {
                self.refused.insert((number, node));
                if !refusal.is_outside_selection() {
                    self.report.refusals.push(refusal);
                }
                false
            }
            Attempt::Edited(affected) => {
                self.report.edits = self.report.edits.saturating_add(1);
                let model = cx.model();
                for node in affected.into_iter().filter(|&node| model.get_node(node).is_some()) {
                    self.push(model, node);
                    self.push_users(model, node);
                }
                self.push(model, node);
                true
            }
        }
    }
}
