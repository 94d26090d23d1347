//! Tests of rules by running them: models are generated around the left side of a rule, and each edit is proved.

mod attributes;
mod build;
mod choose;
mod effects;
mod generate;
mod near;
mod plan;
mod related;
mod sizes;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::BTreeSet;

use onnx_ir::Model;
use onnx_pass::{Condition, Entry, Exactness, Level, PassCx, PassOptions, Refusal, Verdict, prove_models};
use onnx_schema::Registry;
use onnx_types::Execution;

use crate::pattern::Pattern;
use crate::rule_set::RuleSet;
use generate::Generator;

/// Bounds of a test of rules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExamineOptions {
    /// Models that are generated for a rule at most. Default: 600.
    pub attempts: usize,
    /// Models that a rule must edit, after which the next rule is tested: only those whose results have several elements count, and
    /// a third of the others. Those with sizes next to the numbers of a rule are tried in any case. Default: 24.
    pub edits: usize,
    /// The limits of the proofs, what ends the work early, and the seed.
    pub execution: Execution,
    /// The operators that are known. Default: those of ONNX.
    pub registry: Registry,
}

impl Default for ExamineOptions {
    fn default() -> Self {
        Self { attempts: 600, edits: 24, execution: Execution::DEFAULT, registry: Registry::standard() }
    }
}

onnx_types::option_setters! {
    ExamineOptions {
        with_attempts => attempts: usize,
        with_edits => edits: usize,
        with_execution => execution: into Execution,
        with_registry => registry: into Registry,
    }
}

/// The result of testing a rule.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Examined {
    /// The name of the rule.
    pub rule: String,
    /// Number of generated models that run.
    pub models: usize,
    /// Number of edits that were proved, tested, and not compared.
    pub verdicts: [usize; 3],
    /// Edits that the proof refuses, as text: the level, the reason and the model.
    pub failures: Vec<String>,
    /// Why the rule was not applied to generated models: a reason, and the number of models, most frequent first. If no
    /// model was generated, why not, and the number of attempts.
    pub missed: Vec<(String, usize)>,
    /// Number of models in which a result that the rule replaces may be random, so that the edit is refused.
    pub random: usize,
    /// The attributes with any value that the rule drops, and that have no effect on any model that it edits: a sentence for
    /// each. Whether they may be dropped was not tested.
    pub untested: Vec<String>,
}

impl Examined {
    /// Returns `true` if the rule was applied, each edit was right, at least one was compared, and attributes that the rule drops
    /// had an effect.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        let [proved, tested, _] = self.verdicts;
        self.failures.is_empty() && self.untested.is_empty() && proved.saturating_add(tested) > 0
    }
}

/// Tests the rules of a set.
///
/// # Panics
///
/// See [`PassCx::new`].
#[must_use]
pub fn examine(rules: &RuleSet, options: &ExamineOptions) -> Vec<Examined> {
    (0..rules.patterns().len()).map(|rule| examine_rule(&rules.only(rule), options)).collect()
}

fn examine_rule(rules: &RuleSet, options: &ExamineOptions) -> Examined {
    let Some(pattern) = rules.patterns().first() else { return Examined::default() };
    let examined = Examined { rule: pattern.rule.name.clone(), ..Examined::default() };
    let generator = Generator::new(pattern, &options.execution);
    let (tried, small, effective, unmade) = (0, 0, BTreeSet::new(), Vec::new());
    let mut test = Test { rules, pattern, options, generator, examined, tried, small, effective, unmade };
    for _ in 0..options.attempts {
        if test.is_complete() || options.execution.interrupt.check().is_err() {
            break;
        }
        test.attempt();
    }
    test.finish()
}

/// The state of the test of a rule.
struct Test<'a> {
    rules: &'a RuleSet,
    pattern: &'a Pattern,
    options: &'a ExamineOptions,
    generator: Generator<'a>,
    examined: Examined,
    /// Number of attempts.
    tried: usize,
    /// Number of edits of results with at most one element, in which no element can be at the wrong index.
    small: usize,
    /// The attributes that the rule drops and that have an effect on a model which it edits, as indices.
    effective: BTreeSet<usize>,
    /// Why models were not generated.
    unmade: Vec<(String, usize)>,
}

impl Test<'_> {
    fn is_complete(&self) -> bool {
        let edits: usize = self.examined.verdicts.iter().sum();
        let counted = edits.saturating_sub(self.small).saturating_add(self.small / 3);
        let generator = &self.generator;
        let has_all =
            generator.due.is_empty() && generator.due_values.is_empty() && generator.unknown.due == 0;
        let has_sizes = has_all || self.tried >= self.options.attempts / 2;
        let is_tested = counted >= self.options.edits && self.effective.len() == self.generator.dropped.len();
        has_sizes && is_tested || self.examined.failures.len() >= 3
    }

    /// Applies the rule to the next model.
    fn attempt(&mut self) {
        self.tried = self.tried.saturating_add(1);
        let Some(mut model) = self.generator.model() else {
            return add(&mut self.unmade, self.generator.difficulty());
        };
        let examined = &mut self.examined;
        examined.models = examined.models.saturating_add(1);
        let before = model.clone();
        // Edits that cannot be compared are counted.
        let pass = PassOptions::default()
            .with_untested(true)
            .with_execution(self.options.execution.clone())
            .with_registry(&self.options.registry)
            .with_level(Level::Values)
            .with_conditions(&[Condition::NoNan, Condition::Finite, Condition::NoNegativeZero]);
        let mut cx = PassCx::new(&mut model, pass.clone());
        let report = self.rules.apply(&mut cx);
        if report.edits == 0 && report.refusals.is_empty() {
            examined.miss(self.rules, &mut cx);
        }
        let journal = cx.into_journal();
        for refusal in &report.refusals {
            examined.refuse(refusal, &before);
        }
        journal.iter().for_each(|entry| examined.count(entry));
        if !journal.is_empty() || !report.refusals.is_empty() {
            self.generator.settle();
            self.effective.extend(self.generator.effective.iter().copied());
        }
        if self.generator.is_small() {
            self.small = self.small.saturating_add(journal.len());
        }
        // Conditions that a caller grants hold inside the model, where no input can be chosen to satisfy them.
        let is_edited = !journal.is_empty() && journal.iter().all(|entry| entry.assumed.is_empty());
        let class = self.pattern.rule.class.max(Exactness::Exact);
        if is_edited && let Verdict::Refuted(found) = prove_models(&before, &model, class, &pass) {
            examined.failures.push(format!("model: {found}\n{}", text(&before)));
        }
    }

    fn finish(self) -> Examined {
        let Self { mut examined, generator, effective, unmade, .. } = self;
        if examined.models == 0 {
            examined.missed = unmade;
        } else if examined.verdicts != [0; 3] {
            let dropped = generator.dropped.iter().enumerate();
            let dropped = dropped.filter(|(index, _)| !effective.contains(index));
            examined.untested = dropped.map(|(_, dropped)| dropped.untested()).collect();
        }
        examined.missed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        examined
    }
}

impl Examined {
    fn count(&mut self, entry: &Entry) {
        let index = match entry.verdict {
            Verdict::Proved(_) => 0,
            Verdict::Tested { .. } => 1,
            _ => 2,
        };
        if let Some(count) = self.verdicts.get_mut(index) {
            *count = count.saturating_add(1);
        }
    }

    /// An edit that the structure of a model excludes is not a defect of the rule: for example because another node
    /// uses a value. Nor is one after which inference knows less: the results may still be right.
    fn refuse(&mut self, refusal: &Refusal, model: &Model) {
        if refusal.level == Level::Structure && refusal.reason.contains("deterministic") {
            self.random = self.random.saturating_add(1);
        }
        let is_less_precise = refusal.level == Level::Types && refusal.reason.contains("less precise");
        if refusal.level == Level::Structure || is_less_precise {
            add(&mut self.missed, refusal.to_string());
            return;
        }
        self.failures.push(format!("{}: {}\n{}", refusal.level, refusal.reason, text(model)));
    }

    fn miss(&mut self, rules: &RuleSet, cx: &mut PassCx<'_>) {
        let nodes: Vec<_> = cx.model().nodes(cx.model().main_graph()).collect();
        let reasons = nodes.into_iter().rev().flat_map(|node| rules.why(cx, node));
        let best = reasons.max_by_key(|(_, difference)| difference.matched);
        if let Some((_, difference)) = best {
            add(&mut self.missed, difference.reason);
        }
    }
}

/// Counts a reason.
fn add(reasons: &mut Vec<(String, usize)>, reason: String) {
    match reasons.iter_mut().find(|(other, _)| *other == reason) {
        Some((_, count)) => *count = count.saturating_add(1),
        None => reasons.push((reason, 1)),
    }
}

fn text(model: &Model) -> String {
    let printed = onnx_text::print_model(model, &onnx_text::PrintOptions::default());
    printed.map(|printed| printed.text).unwrap_or_default()
}
