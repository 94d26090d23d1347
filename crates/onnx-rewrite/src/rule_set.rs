//! Sets of rules, and their application to a model.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Model, NodeId};
use onnx_pass::passes::Report;
use onnx_pass::{Exactness, Pass, PassCx, Patch, Proof, Reason, Refusal};
use onnx_shape_infer::Inference;
use onnx_types::tensor::NoData;
use slotmap::SecondaryMap;

use crate::ast::Rule;
use crate::evaluate::{Scratch, evaluate};
use crate::fault::RuleFileError;
use crate::matching::{Difference, Match, Pattern};
use crate::operators::Index;
use crate::parse::parse;
use crate::{check, condition, effective, replace};

/// Edits for each node of the model at the beginning, after which the application ends.
const MAX_EDITS_PER_NODE: usize = 16;

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
    patterns: Vec<Pattern>,
    index: Index,
}

impl RuleSet {
    /// Reads a rule file, and checks its rules.
    ///
    /// # Errors
    ///
    /// Returns every mistake, with its line and column.
    pub fn parse(text: &str) -> Result<Self, RuleFileError> {
        let (rules, _) = parse(text)?;
        let mistakes: Vec<_> = rules.iter().flat_map(check::mistakes).collect();
        if !mistakes.is_empty() {
            return Err(RuleFileError::new(text, mistakes));
        }
        Ok(Self::of(rules))
    }

    fn of(rules: Vec<Rule>) -> Self {
        let patterns: Vec<Pattern> = rules.into_iter().map(Pattern::new).collect();
        let index = Index::new(&patterns);
        Self { patterns, index }
    }

    /// The rules of this crate that simplify, by family: those of [`FILES`](crate::FILES).
    ///
    /// # Errors
    ///
    /// Returns the mistakes of the first file that is not a rule file: a defect of this crate. No rule is left out.
    pub fn standard() -> Result<Self, RuleFileError> {
        Self::of_files(crate::FILES)
    }

    /// The rules of several files: name and text.
    fn of_files(files: &[(&str, &str)]) -> Result<Self, RuleFileError> {
        let mut all = Vec::new();
        for (_, text) in files {
            all.extend(Self::parse(text)?.patterns.into_iter().map(|pattern| pattern.rule));
        }
        Ok(Self::of(all))
    }

    /// These rules, and then others. A rule replaces one of the same name.
    #[must_use]
    pub fn and(self, others: &Self) -> Self {
        let is_kept =
            |pattern: &Pattern| others.patterns.iter().all(|other| other.rule.name != pattern.rule.name);
        let rules = self.patterns.iter().filter(|pattern| is_kept(pattern)).chain(&others.patterns);
        Self::of(rules.map(|pattern| pattern.rule.clone()).collect())
    }

    /// The rules, in order.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.patterns.iter().map(|pattern| &pattern.rule)
    }

    /// Number of rules.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(crate) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// A set with one rule of this one.
    pub(crate) fn only(&self, rule: usize) -> Self {
        Self::of(self.patterns.get(rule).map(|pattern| pattern.rule.clone()).into_iter().collect())
    }

    /// The places of a model at which the left side of a rule matches, in the order of the nodes. Conditions are not checked,
    /// except that operands are constant: they may need what an edit records. The search runs as the iterator advances.
    pub fn find<'a>(
        &'a self,
        model: &'a Model,
        inference: Option<&'a Inference>,
    ) -> impl Iterator<Item = (&'a Rule, Match)> + 'a {
        let index = self.index.of_model(model);
        let source = effective::Source { model, inference, data: &NoData };
        let graphs: Vec<_> = model.all_graphs().collect();
        let nodes = graphs.into_iter().flat_map(|graph| model.nodes(graph));
        nodes.flat_map(move |node| {
            let found = index.get(&model.node(node).op()).cloned().unwrap_or_default();
            let patterns = found.into_iter().filter_map(|number| self.patterns.get(number));
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
    ) -> Option<Difference> {
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
    pub fn why(&self, cx: &mut PassCx<'_>, node: NodeId) -> Vec<(String, Difference)> {
        let index = self.index.of_model(cx.model());
        let numbers = cx.model().get_node(node).and_then(|record| index.get(&record.op())).cloned();
        let mut reasons = Vec::new();
        let mut scratch = Scratch::new(&cx.options().execution);
        for pattern in numbers.unwrap_or_default().into_iter().filter_map(|number| self.patterns.get(number))
        {
            let found = self.difference(cx.model(), Some(cx.inference()), &pattern.rule.name, node);
            let difference = found.unwrap_or_else(|| {
                let matched = pattern.rule.from.nodes.len();
                let reason = match attempt(cx, pattern, node, &mut scratch, |patch| patch.verify()) {
                    Attempt::Missed(reason) => reason.to_string(),
                    Attempt::Refused(refusal) => refusal.to_string(),
                    Attempt::Edited(_) => "it applies".to_owned(),
                };
                Difference { matched, reason }
            });
            reasons.push((pattern.rule.name.clone(), difference));
        }
        reasons
    }

    /// The least exact class of the rules.
    #[must_use]
    pub fn class(&self) -> Exactness {
        self.rules().map(Rule::class).max().unwrap_or(Exactness::Exact)
    }

    /// A pass that applies the rules.
    #[must_use]
    pub fn pass(self, name: impl Into<std::borrow::Cow<'static, str>>) -> Pass {
        let summary = format!("Applies {} rewrite rules.", self.len());
        let page: Vec<String> =
            self.rules().map(|rule| format!("## {}\n\n{}\n", rule.name(), rule.page())).collect();
        let page = page.join("\n");
        Pass::new(name, summary, self.class(), move |cx| self.apply(cx)).with_page(page).after("sorted")
    }

    /// Applies the rules to all graphs of a model until none applies. Each edit lowers the cost of the model. The patches have
    /// the names of the rules.
    pub fn apply(&self, cx: &mut PassCx<'_>) -> Report {
        let mut work = Work::new(self, cx);
        while let Some(node) = work.queue.pop_front() {
            work.queued.remove(node);
            if cx.is_stopped() || work.report.edits >= work.max_edits {
                break;
            }
            work.visit(cx, node);
        }
        work.report
    }
}

/// The result of one attempt to apply a rule at a node.
enum Attempt {
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
    let found: Vec<Match> = pattern.at(source, node).take(MAX_MATCHES).collect();
    let mut missed = Reason::from("the left side does not match");
    for mut found in found {
        let affected = neighbors(cx.model(), &found);
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

/// What an edit may affect: producers of the operands, which lose uses, and users of the results.
fn neighbors(model: &Model, found: &Match) -> Vec<NodeId> {
    let mut affected = Vec::new();
    for node in found.nodes() {
        affected
            .extend(model.node(node).inputs().flatten().filter_map(|value| model.value(value).producer()));
        affected.extend(users(model, node));
    }
    affected
}

/// The nodes that read the outputs of a node.
fn users(model: &Model, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    model.node(node).outputs().iter().flatten().flat_map(|&value| model.consumers(value))
}

/// The state of an application.
struct Work<'a> {
    rules: &'a RuleSet,
    by_op: HashMap<onnx_types::Symbol, Vec<usize>, RandomState>,
    queue: VecDeque<NodeId>,
    queued: SecondaryMap<NodeId, ()>,
    /// Rules that were refused at a node are not tried there again.
    refused: HashSet<(usize, NodeId), RandomState>,
    scratch: Scratch,
    report: Report,
    max_edits: usize,
}

impl<'a> Work<'a> {
    fn new(rules: &'a RuleSet, cx: &PassCx<'_>) -> Self {
        let model = cx.model();
        let by_op = rules.index.of_model(model);
        let mut work = Self {
            rules,
            by_op,
            queue: VecDeque::new(),
            queued: SecondaryMap::new(),
            refused: HashSet::default(),
            scratch: Scratch::new(&cx.options().execution),
            report: Report::default(),
            max_edits: model.node_count().saturating_add(1).saturating_mul(MAX_EDITS_PER_NODE),
        };
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            work.push(model, node);
        }
        work
    }

    fn push(&mut self, model: &Model, node: NodeId) {
        let Some(record) = model.get_node(node) else { return };
        if self.by_op.contains_key(&record.op()) && self.queued.insert(node, ()).is_none() {
            self.queue.push_back(node);
        }
    }

    fn visit(&mut self, cx: &mut PassCx<'_>, node: NodeId) {
        let Some(record) = cx.model().get_node(node) else { return };
        if cx.options().only.is_some_and(|only| !only.contains(&node)) {
            return;
        }
        let version = cx.model().versions_in(record.graph()).get(onnx_types::Symbol::EMPTY).unwrap_or(0);
        let Some(numbers) = self.by_op.get(&record.op()).cloned() else { return };
        for number in numbers {
            let Some(pattern) = self.rules.patterns.get(number) else { continue };
            let is_allowed = version >= pattern.rule.since && pattern.rule.class <= cx.options().class;
            if !is_allowed || self.refused.contains(&(number, node)) {
                continue;
            }
            match attempt(cx, pattern, node, &mut self.scratch, |patch| patch.commit()) {
                Attempt::Missed(_) => {}
                Attempt::Refused(refusal) => {
                    self.refused.insert((number, node));
                    self.report.refusals.push(refusal);
                }
                Attempt::Edited(affected) => {
                    self.report.edits = self.report.edits.saturating_add(1);
                    let model = cx.model();
                    for node in affected.into_iter().filter(|&node| model.get_node(node).is_some()) {
                        self.push(model, node);
                        users(model, node).for_each(|user| self.push(model, user));
                    }
                    self.push(cx.model(), node);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_mistake_is_an_error() {
        let right = "rule neg-neg: exact from (x) => (y) { y = Neg (Neg (x)) } to (x) => (x) {}";
        let wrong = "rule neg-neg: exact from (x) => (y) { y = Negs (x) } to (x) => (x) {}";
        assert_eq!(RuleSet::of_files(&[("a", right)]).unwrap().len(), 1);
        let error = RuleSet::of_files(&[("a", right), ("b", wrong)]).unwrap_err();
        assert!(error.to_string().contains("`Negs` does not exist"), "{error}");
    }
}
