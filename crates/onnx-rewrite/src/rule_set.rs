//! Sets of rules, and their application to a model.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Model, NodeId};
use onnx_pass::passes::Report;
use onnx_pass::{Exactness, Pass, PassCx, Patch, Proof, Reason, Refusal};
use onnx_schema::Registry;
use onnx_shape_infer::Inference;
use onnx_types::tensor::NoData;
use onnx_types::{Interrupt, Symbol};
use slotmap::SecondaryMap;

use crate::ast::Rule;
use crate::cost::Costs;
use crate::evaluate::{Scratch, evaluate};
use crate::fault::RuleFileError;
use crate::functions::RuleFunction;
use crate::matching::{RuleMatch, RuleMismatch};
use crate::operators::Index;
use crate::parse::parse;
use crate::pattern::Pattern;
use crate::{check, condition, effective, replace};

/// Edits for each node of the model at the beginning, after which the application ends.
const MAX_EDITS_PER_NODE: usize = 16;

/// Number of uses from which on a value is not one inside of a pattern, unless a rule states that it is shared.
const MANY_USES: usize = 64;

/// Times that the users of nodes with more uses are visited again.
const MAX_SWEEPS: usize = 16;

/// Rewrite rules that are applied together.
///
/// ```
/// use onnx_pass::{PassCx, PassOptions};
/// use onnx_rewrite::RuleSet;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let rules = RuleSet::parse(
///     "rule neg-neg: exact
///      from (x) => (y) { y = Neg (Neg (x)) }
///      to   (x) => (x) {}",
/// )?;
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) y = Relu (b) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let report = rules.apply(&mut PassCx::new(&mut model, PassOptions::default()));
/// assert_eq!((report.edits, model.node_count()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    patterns: Vec<Arc<Pattern>>,
    index: Index,
    functions: Vec<RuleFunction>,
    costs: Costs,
}

impl RuleSet {
    /// Reads a rule file, and checks its rules.
    ///
    /// # Errors
    ///
    /// Returns the mistakes, each with its line and column: the first one of each rule that is not in the syntax of rules, or,
    /// if the syntax of all rules is right, all others.
    pub fn parse(text: &str) -> Result<Self, RuleFileError> {
        Self::parse_with(text, Registry::STANDARD)
    }

    /// Reads a rule file, and checks its rules; operators of other domains against the sets that a registry declares.
    ///
    /// # Errors
    ///
    /// See [`RuleSet::parse`].
    pub fn parse_with(text: &str, registry: &Registry) -> Result<Self, RuleFileError> {
        let (rules, _) = parse(text)?;
        let mistakes: Vec<_> = rules.iter().flat_map(|rule| check::mistakes(rule, registry)).collect();
        if !mistakes.is_empty() {
            return Err(RuleFileError::new(text, mistakes));
        }
        Ok(Self::of(rules))
    }

    pub(crate) fn of(rules: Vec<Rule>) -> Self {
        Self::of_patterns(rules.into_iter().map(Pattern::new).map(Arc::new).collect())
    }

    fn of_patterns(patterns: Vec<Arc<Pattern>>) -> Self {
        let index = Index::new(&patterns);
        Self { patterns, index, functions: Vec::new(), costs: Costs::standard() }
    }

    /// Adds a rule that is a function; it replaces one of the same name.
    #[must_use]
    pub fn with_function(mut self, function: RuleFunction) -> Self {
        self.functions.retain(|other| other.name() != function.name());
        self.functions.push(function);
        self
    }

    /// The rules of this crate that simplify, by family: those of [`FILES`](crate::FILES), and those that are functions.
    ///
    /// # Errors
    ///
    /// Returns the mistakes of the first file that is not a rule file: a defect of this crate. No rule is left out.
    pub fn standard() -> Result<Self, RuleFileError> {
        static RULES: LazyLock<Result<RuleSet, RuleFileError>> =
            LazyLock::new(|| RuleSet::of_files(crate::FILES));
        Ok(Self { functions: RuleFunction::standard(), ..RULES.clone()? })
    }

    /// The rules of this crate that replace several nodes by one operator of the standard, where the version of the model has
    /// it: those of [`FUSION_FILES`](crate::FUSION_FILES).
    ///
    /// # Errors
    ///
    /// See [`RuleSet::standard`].
    pub fn fusions() -> Result<Self, RuleFileError> {
        static RULES: LazyLock<Result<RuleSet, RuleFileError>> =
            LazyLock::new(|| RuleSet::of_files(crate::FUSION_FILES));
        RULES.clone()
    }

    /// The rules of files of this crate: name and text. A test compares them with the schemas; a program need not.
    fn of_files(files: &[(&str, &str)]) -> Result<Self, RuleFileError> {
        let mut all = Vec::new();
        for (_, text) in files {
            all.extend(parse(text)?.0);
        }
        Ok(Self::of(all))
    }

    /// These rules, and then others. A rule replaces one of the same name.
    #[must_use]
    pub fn and(self, others: &Self) -> Self {
        let is_kept = |pattern: &&Arc<Pattern>| others.rules().all(|other| other.name != pattern.rule.name);
        let patterns = self.patterns.iter().filter(is_kept).chain(&others.patterns).cloned().collect();
        let mut all = Self::of_patterns(patterns).with_costs(self.costs.clone());
        for function in self.functions.iter().chain(&others.functions) {
            all = all.with_function(function.clone());
        }
        all
    }

    /// Without the rules of files whose result has a node of an operator of the standard that a runtime lacks. A rule whose pattern
    /// has the operator stays.
    ///
    /// ```
    /// use onnx_rewrite::RuleSet;
    ///
    /// let all = RuleSet::fusions()?;
    /// assert!(all.clone().for_operators(|op| op != "Gelu").len() < all.len());
    /// # Ok::<(), onnx_rewrite::RuleFileError>(())
    /// ```
    #[must_use]
    pub fn for_operators(self, has: impl Fn(&str) -> bool) -> Self {
        let is_within = |rule: &Rule| {
            let is_in_pattern = |op: &str| rule.from.nodes.iter().any(|node| node.op == op);
            let mut nodes = rule.to.nodes.iter().filter(|node| node.domain.is_empty());
            nodes.all(|node| has(&node.op) || is_in_pattern(&node.op))
        };
        let patterns = self.patterns.into_iter().filter(|pattern| is_within(&pattern.rule)).collect();
        Self { functions: self.functions, ..Self::of_patterns(patterns).with_costs(self.costs) }
    }

    /// Sets the costs of nodes, which each edit must lower.
    #[must_use]
    pub fn with_costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// The rules that are functions, in order.
    pub fn functions(&self) -> impl Iterator<Item = &RuleFunction> {
        self.functions.iter()
    }

    /// The rules of files, in order.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.patterns.iter().map(|pattern| &pattern.rule)
    }

    /// Number of rules.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.patterns.len().saturating_add(self.functions.len())
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn patterns(&self) -> &[Arc<Pattern>] {
        &self.patterns
    }

    /// A set with one rule of this one.
    pub(crate) fn only(&self, rule: usize) -> Self {
        Self::of_patterns(self.patterns.get(rule).cloned().into_iter().collect())
    }

    /// The matches of the left side of a rule in a model, in the order of the nodes. Conditions are not checked, except
    /// that operands are constant: they may need facts that only an edit records. The search runs as the iterator
    /// advances.
    pub fn find<'a>(
        &'a self,
        model: &'a Model,
        inference: Option<&'a Inference>,
    ) -> impl Iterator<Item = (&'a Rule, RuleMatch)> + 'a {
        self.matches(effective::Source { model, inference, data: &NoData }, Interrupt::NEVER)
    }

    /// Like [`find`](Self::find), with the elements of a source.
    pub(crate) fn matches<'a>(
        &'a self,
        source: effective::Source<'a>,
        interrupt: Interrupt,
    ) -> impl Iterator<Item = (&'a Rule, RuleMatch)> + 'a {
        let model = source.model;
        let graphs: Vec<_> = model.all_graphs().collect();
        let nodes = graphs.into_iter().flat_map(|graph| model.nodes(graph));
        nodes.take_while(move |_| interrupt.check().is_ok()).flat_map(move |node| {
            let patterns =
                self.index.at(model, node).into_iter().filter_map(|number| self.patterns.get(number));
            patterns.filter_map(move |pattern| Some((&pattern.rule, pattern.at(source, node).next()?)))
        })
    }

    /// How far the match of a rule at a node progresses, and what ends it; `None` if no rule has the name or the left side
    /// matches. Conditions are reported by [`RuleSet::why`].
    #[must_use]
    pub fn difference(
        &self,
        model: &Model,
        inference: Option<&Inference>,
        rule: &str,
        node: NodeId,
    ) -> Option<RuleMismatch> {
        let pattern = self.patterns.iter().find(|pattern| pattern.rule.name == rule)?;
        let source = effective::Source { model, inference, data: &NoData };
        let mut matches = pattern.at(source, node).explained();
        if matches.next().is_some() {
            return None;
        }
        Some(matches.difference())
    }

    /// Why no rule whose last operator is that of a node applies to it: for each one, its name, the number of nodes that
    /// match, and the difference or the condition that excludes it.
    pub fn why(&self, cx: &mut PassCx<'_>, node: NodeId) -> Vec<(String, RuleMismatch)> {
        let numbers = self.index.all_at(cx.model(), node);
        let mut reasons = Vec::new();
        let mut scratch = Scratch::new(&cx.options().execution, &self.costs);
        for pattern in numbers.into_iter().filter_map(|number| self.patterns.get(number)) {
            let found = self.difference(cx.model(), Some(cx.inference()), &pattern.rule.name, node);
            let difference = found.unwrap_or_else(|| {
                let matched = pattern.node_count();
                if let Some(reason) = excluded(cx, &pattern.rule, node) {
                    return RuleMismatch { matched, reason };
                }
                let reason = match attempt(cx, pattern, node, &mut scratch, |patch| patch.verify()) {
                    Attempt::Missed(reason) => reason.to_string(),
                    Attempt::Refused(refusal) => refusal.to_string(),
                    Attempt::Edited(_) => "it applies".to_owned(),
                };
                RuleMismatch { matched, reason }
            });
            reasons.push((pattern.rule.name.clone(), difference));
        }
        for function in &self.functions {
            if !function.is_tried_at(cx.model(), node) {
                continue;
            }
            let mut patch = cx.patch(function.name(), function.class());
            patch.source(node);
            let verified = function.fill(&mut patch, node, &self.costs).map(|_| patch.verify());
            let reason = match verified {
                Err(reason) => reason.to_string(),
                Ok(Err(refusal)) => refusal.to_string(),
                Ok(Ok(_)) => "it applies".to_owned(),
            };
            reasons.push((function.name().to_owned(), RuleMismatch { matched: 1, reason }));
        }
        reasons
    }

    /// The least exact class of the rules.
    #[must_use]
    pub fn class(&self) -> Exactness {
        let functions = self.functions.iter().map(RuleFunction::class);
        self.rules().map(Rule::class).chain(functions).max().unwrap_or(Exactness::Exact)
    }

    /// A pass that applies the rules.
    #[must_use]
    pub fn pass(self, name: impl Into<std::borrow::Cow<'static, str>>) -> Pass {
        let summary = format!("Applies {} rewrite rules.", self.len());
        let rules = self.rules().map(|rule| (rule.name(), rule.page()));
        let functions = self.functions.iter().map(|rule| (rule.name(), rule.page()));
        let page: Vec<String> =
            rules.chain(functions).map(|(name, page)| format!("## {name}\n\n{page}\n")).collect();
        let page = page.join("\n");
        Pass::new(name, summary, self.class(), move |cx| self.apply(cx)).with_page(page).after("sorted")
    }

    /// Applies the rules to all graphs of a model until none applies. Each edit lowers the cost of the model. The patches have
    /// the names of the rules.
    pub fn apply(&self, cx: &mut PassCx<'_>) -> Report {
        let mut work = Work::new(self, cx);
        while let Some(node) = work.next(cx.model()) {
            if cx.is_stopped() || work.report.edits >= work.max_edits {
                break;
            }
            work.visit(cx, node);
        }
        work.report
    }
}

/// The result of one attempt to apply a rule at a node.
pub(crate) enum Attempt {
    Edited(Vec<NodeId>),
    Missed(Reason),
    Refused(Refusal),
}

/// Tries the matches of a rule at a node in order; `finish` commits the patch, or only verifies it.
fn attempt(
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
            .and_then(|()| replace::replace(rule, &found, &mut patch, scratch));
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
fn excluded(cx: &PassCx<'_>, rule: &Rule, node: NodeId) -> Option<String> {
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
struct Work<'a> {
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
    report: Report,
    max_edits: usize,
}

impl<'a> Work<'a> {
    fn new(rules: &'a RuleSet, cx: &PassCx<'_>) -> Self {
        let model = cx.model();
        let mut work = Self {
            rules,
            queue: VecDeque::new(),
            queued: SecondaryMap::new(),
            wide: Vec::new(),
            sweeps: MAX_SWEEPS,
            refused: HashSet::default(),
            scratch: Scratch::new(&cx.options().execution, &rules.costs),
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
    fn next(&mut self, model: &Model) -> Option<NodeId> {
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

    fn visit(&mut self, cx: &mut PassCx<'_>, node: NodeId) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_this_crate_have_no_mistakes() {
        for (name, text) in crate::FILES.iter().chain(crate::FUSION_FILES) {
            assert!(RuleSet::parse(text).is_ok_and(|rules| !rules.is_empty()), "{name}");
        }
    }

    #[test]
    fn a_file_with_a_mistake_is_an_error() {
        let right = "rule neg-neg: exact from (x) => (y) { y = Neg (Neg (x)) } to (x) => (x) {}";
        assert_eq!(RuleSet::of_files(&[("a", right)]).unwrap().len(), 1);
        let error = RuleSet::of_files(&[("a", right), ("b", "rule neg-neg: from")]).unwrap_err();
        assert!(error.to_string().contains("expected `exact`"), "{error}");
    }
}
