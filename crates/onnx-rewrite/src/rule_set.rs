//! Sets of rules, and their application to a model.

use std::sync::{Arc, LazyLock};

use onnx_ir::{Model, NodeId};
use onnx_pass::passes::Report;
use onnx_pass::{Exactness, Pass, PassCx};
use onnx_schema::Registry;
use onnx_shape_infer::Inference;
use onnx_types::tensor::NoData;
use onnx_types::{Interrupt, Stopped, Watch};

use crate::apply::{Attempt, Work, attempt, excluded};
use crate::ast::Rule;
use crate::cost::Costs;
use crate::evaluate::Scratch;
use crate::fault::{Mistake, RuleFileError};
use crate::functions::RuleFunction;
use crate::matching::{RuleMatch, RuleMismatch};
use crate::operators::Index;
use crate::parse::{WATCHED_RULES, parse, parse_until};
use crate::pattern::Pattern;
use crate::{check, effective};

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
    pub(crate) patterns: Vec<Arc<Pattern>>,
    pub(crate) index: Index,
    pub(crate) functions: Vec<RuleFunction>,
    pub(crate) costs: Costs,
    /// Whether edits need not lower the cost.
    has_any_cost: bool,
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
        Self::parse_for(text, registry, false)
    }

    /// Like [`RuleSet::parse_with`], until an interrupt.
    ///
    /// # Errors
    ///
    /// Returns an error if the work is interrupted; the result of the work is that of [`RuleSet::parse_with`].
    pub fn parse_until(
        text: &str,
        registry: &Registry,
        interrupt: &Interrupt,
    ) -> Result<Result<Self, RuleFileError>, Stopped> {
        let rules = match parse_until(text, interrupt)? {
            Ok((rules, _)) => rules,
            Err(error) => return Ok(Err(error)),
        };
        let mut watch = Watch::silent(interrupt, WATCHED_RULES);
        let (mut mistakes, mut costs) = (Vec::new(), Vec::new());
        for rule in &rules {
            watch.work(1)?;
            mistakes.extend(check::mistakes(rule, registry));
            costs.extend(check::raised_cost(rule).map(|cost| Mistake::cost(rule.at, cost)));
        }
        mistakes.extend(costs);
        if !mistakes.is_empty() {
            return Ok(Err(RuleFileError::new(text, mistakes)));
        }
        let pattern = |rule| watch.work(1).map(|()| Arc::new(Pattern::new(rule)));
        let patterns = rules.into_iter().map(pattern).collect::<Result<_, _>>()?;
        interrupt.check()?;
        Ok(Ok(Self::of_patterns(patterns)))
    }

    /// Like [`RuleSet::parse_with`], for rules that are applied whatever they cost: because a runtime lacks an operator, for
    /// example. An edit that does not lower the cost is made only where the rule did not make the last node of its left side, from
    /// whatever nodes, so that the application ends.
    ///
    /// ```
    /// use onnx_pass::{PassCx, PassOptions};
    /// use onnx_rewrite::RuleSet;
    /// use onnx_schema::Registry;
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = "rule no-neg: rounding from (x) => (y) { y = Neg (x) } to (x) => (y) { y = Neg (Mul (x, 1)) }";
    /// assert!(RuleSet::parse(text).is_err());
    /// let rules = RuleSet::parse_whatever_cost(text, Registry::STANDARD)?;
    /// let model = r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (float[N] y) { y = Neg (x) }"#;
    /// let mut model = parse_model(model, &ParseOptions::default())?;
    /// assert_eq!(rules.apply(&mut PassCx::new(&mut model, PassOptions::default())).edits, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`RuleSet::parse`]; no cost is a mistake.
    pub fn parse_whatever_cost(text: &str, registry: &Registry) -> Result<Self, RuleFileError> {
        Self::parse_for(text, registry, true)
    }

    fn parse_for(text: &str, registry: &Registry, has_any_cost: bool) -> Result<Self, RuleFileError> {
        let (rules, _) = parse(text)?;
        let mut mistakes: Vec<_> = rules.iter().flat_map(|rule| check::mistakes(rule, registry)).collect();
        if !has_any_cost {
            let costs =
                rules.iter().filter_map(|rule| Some(Mistake::cost(rule.at, check::raised_cost(rule)?)));
            mistakes.extend(costs);
        }
        if !mistakes.is_empty() {
            return Err(RuleFileError::new(text, mistakes));
        }
        Ok(Self { has_any_cost, ..Self::of(rules) })
    }

    /// The rules whose right side does not cost less than the left one, each with both costs.
    pub fn costly(&self) -> impl Iterator<Item = (&Rule, u64, u64)> {
        self.rules().filter_map(|rule| check::raised_cost(rule).map(|(before, after)| (rule, before, after)))
    }

    pub(crate) fn of(rules: Vec<Rule>) -> Self {
        Self::of_patterns(rules.into_iter().map(Pattern::new).map(Arc::new).collect())
    }

    fn of_patterns(patterns: Vec<Arc<Pattern>>) -> Self {
        let index = Index::new(&patterns);
        Self { patterns, index, functions: Vec::new(), costs: Costs::standard(), has_any_cost: false }
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
        all.has_any_cost = self.has_any_cost || others.has_any_cost;
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
        Self {
            functions: self.functions,
            has_any_cost: self.has_any_cost,
            ..Self::of_patterns(patterns).with_costs(self.costs)
        }
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
        let pattern = self.patterns.get(rule).cloned();
        Self { has_any_cost: self.has_any_cost, ..Self::of_patterns(pattern.into_iter().collect()) }
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
        let mut scratch = self.scratch(cx);
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

    pub(crate) fn scratch(&self, cx: &PassCx<'_>) -> Scratch {
        Scratch::new(&cx.options().execution, &self.costs).with_any_cost(self.has_any_cost)
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

    /// Applies the rules to all graphs of a model until none applies. Each edit lowers the cost of the model, or is of a rule that is
    /// [applied whatever it costs](RuleSet::parse_whatever_cost). The patches have the names of the rules.
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
    fn reading_of_many_rules_ends_with_the_interrupt() {
        let rule = |number: usize| {
            format!("rule r{number}: exact from (x) => (y) {{ y = Neg (Neg (x)) }} to (x) => (x) {{}}\n")
        };
        let text: String = (0..256).map(rule).collect();
        let parsed = |number: usize| {
            let asked = std::sync::atomic::AtomicUsize::new(0);
            let interrupt =
                Interrupt::when(move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == number);
            RuleSet::parse_until(&text, Registry::STANDARD, &interrupt)
        };
        assert_eq!(parsed(usize::MAX).unwrap().unwrap().len(), 256);
        assert!([0, 10, 20, 30].into_iter().all(|number| parsed(number).is_err()));
        let twice = text.clone() + &rule(7);
        let found = RuleSet::parse(&twice).unwrap_err().to_string();
        assert!(found.contains("two rules `r7`"), "{found}");
    }

    #[test]
    fn a_file_with_a_mistake_is_an_error() {
        let right = "rule neg-neg: exact from (x) => (y) { y = Neg (Neg (x)) } to (x) => (x) {}";
        assert_eq!(RuleSet::of_files(&[("a", right)]).unwrap().len(), 1);
        let error = RuleSet::of_files(&[("a", right), ("b", "rule neg-neg: from")]).unwrap_err();
        assert!(error.to_string().contains("expected `exact`"), "{error}");
    }
}
