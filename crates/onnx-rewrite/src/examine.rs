//! Tests of rules by running them: models are generated around the left side of a rule, and each edit is proved.

mod choose;
mod generate;
mod related;

use onnx_ir::Model;
use onnx_pass::{Condition, Entry, Exactness, Level, PassCx, PassOptions, Refusal, Verdict, prove_models};
use onnx_types::Execution;

use crate::rule_set::RuleSet;
use generate::Generator;

/// Bounds of a test of rules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExamineOptions {
    /// Models that are generated for a rule at most. Default: 600.
    pub attempts: usize,
    /// Models that a rule must edit, after which the next rule is tested. Default: 24.
    pub edits: usize,
    /// The limits of the proofs, what ends the work early, and the seed.
    pub execution: Execution,
}

impl Default for ExamineOptions {
    fn default() -> Self {
        Self { attempts: 600, edits: 24, execution: Execution::DEFAULT }
    }
}

onnx_types::option_setters! {
    ExamineOptions {
        with_attempts => attempts: usize,
        with_edits => edits: usize,
        with_execution => execution: into Execution,
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
}

impl Examined {
    /// Returns `true` if the rule was applied, each edit was right, and at least one was compared.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        let [proved, tested, _] = self.verdicts;
        self.failures.is_empty() && proved.saturating_add(tested) > 0
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
    let mut examined = Examined::default();
    let Some(pattern) = rules.patterns().first() else { return examined };
    pattern.rule.name.clone_into(&mut examined.rule);
    let mut unmade = Vec::new();
    let mut generator = Generator::new(pattern, &options.execution);
    for _ in 0..options.attempts {
        let edits: usize = examined.verdicts.iter().sum();
        let is_enough = edits >= options.edits || examined.failures.len() >= 3;
        if is_enough || options.execution.interrupt.check().is_err() {
            break;
        }
        let Some(mut model) = generator.model() else {
            add(&mut unmade, generator.difficulty());
            continue;
        };
        examined.models = examined.models.saturating_add(1);
        let before = model.clone();
        let pass = PassOptions::default()
            .with_execution(options.execution.clone())
            .with_level(Level::Values)
            .with_conditions(&[Condition::NoNan, Condition::Finite, Condition::NoNegativeZero]);
        let mut cx = PassCx::new(&mut model, pass.clone());
        let report = rules.apply(&mut cx);
        if report.edits == 0 && report.refusals.is_empty() {
            examined.miss(rules, &mut cx);
        }
        let journal = cx.into_journal();
        for refusal in &report.refusals {
            examined.refuse(refusal, &before);
        }
        journal.iter().for_each(|entry| examined.count(entry));
        // Conditions that a caller grants hold inside the model, where no input can be chosen to satisfy them.
        let is_edited = !journal.is_empty() && journal.iter().all(|entry| entry.assumed.is_empty());
        let class = pattern.rule.class.max(Exactness::Exact);
        if is_edited && let Verdict::Refuted(found) = prove_models(&before, &model, class, &pass) {
            examined.failures.push(format!("model: {found}\n{}", text(&before)));
        }
    }
    if examined.models == 0 {
        examined.missed = unmade;
    }
    examined.missed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    examined
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
    /// uses a value.
    fn refuse(&mut self, refusal: &Refusal, model: &Model) {
        if refusal.level == Level::Structure {
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
