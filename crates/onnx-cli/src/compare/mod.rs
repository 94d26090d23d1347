//! `onnx compare`: runs two models on the same inputs and compares their outputs.

mod args;
mod show;

use onnx_diag::{Locus, Sink};
use onnx_eval::compare::{CompareFailure, CompareOptions, Comparison, Pair, Side, Tolerances};
use onnx_eval::{Failure as EvalFailure, Value};
use onnx_shape_infer::{InferOptions, Inference};

use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, is_stdin, load};
use crate::output::{Colours, Out, shown};
use crate::progress::Progress;
use crate::run::{
    Given, Inputs, Preparation, Set, as_failure, eval_options, is_failure_of_command, parse_set, read_given,
    refuse_partial,
};

pub(crate) use args::CompareArgs;

/// Combinations of sizes that the models run with at most.
const MOST_COMBINATIONS: usize = 1000;

/// Both models, and how they run.
struct Models<'a> {
    a: &'a Loaded,
    b: &'a Loaded,
    planned: Result<Pair<'a>, CompareFailure>,
    inference: &'a Inference,
    given: &'a Given,
    options: CompareOptions,
    /// Whether only common outputs count.
    common: bool,
}

/// A run of both models.
struct Run {
    sizes: Vec<(String, i64)>,
    seed: u64,
    result: Result<Comparison, NotRun>,
}

/// Why there is nothing to compare.
struct NotRun {
    side: Side,
    message: String,
    findings: Sink,
}

pub(crate) fn run(args: &CompareArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if is_stdin(&args.a) && is_stdin(&args.b) {
        return Err(Failure::new("only one model can come from standard input"));
    }
    let sets = combinations(&args.sizes)?;
    let progress = Progress::start("comparing", 1);
    let [a, b] = [&args.a, &args.b].map(|path| {
        progress.begin(&display_name(path));
        load(path, &args.input)
    });
    let (mut a, mut b) = (a?, b?);
    progress.aside(|| a.report(&args.input.severity, false, out))?;
    progress.aside(|| b.report(&args.input.severity, false, out))?;
    let registry = args.documents.registry()?;
    let given = read_given(&args.feeds, &a)?;
    refuse_partial(&a.model, &given, args.feeds.seed)?;
    let sources = [a.source()?, b.source()?];
    let inference = a.infer(InferOptions::default().with_data(&sources[0]).with_registry(&registry))?;
    let tolerances = Tolerances::default().with_rtol(args.rtol).with_atol(args.atol).with_ulps(args.ulps);
    let options = CompareOptions::default().with_tolerances(tolerances).with_inner(args.inner);
    let [run_a, run_b] =
        sources.each_ref().map(|source| eval_options(&a.execution, 0, &registry).with_data(source));
    let models = Models {
        a: &a,
        b: &b,
        planned: Pair::new((&a.model, &run_a), (&b.model, &run_b), &options),
        inference: &inference,
        given: &given,
        options,
        common: args.common,
    };
    let runs = models.runs(args, &sets, &progress)?;
    let outcome = models.judge(&runs);
    progress.aside(|| findings(&models, &runs, out))?;
    if out.is_for_people() {
        progress.aside(|| out.text(&show::text(&models, &runs, outcome == Outcome::Fine)?))?;
    } else {
        out.result_kind("compare/1", "runs");
        out.items(runs.iter().map(|run| show::item(&models, run)).collect());
    }
    Ok(outcome)
}

/// The sizes of each run: all combinations of what is given, or `None` without any.
fn combinations(sizes: &[String]) -> Result<Option<Vec<Vec<Set>>>, Failure> {
    let mut all: Vec<Vec<Set>> = vec![Vec::new()];
    for text in sizes {
        let (dims, list) = text.rsplit_once('=').unwrap_or((text, ""));
        let choices: Vec<Vec<Set>> =
            list.split(',').map(|size| parse_set(&format!("{dims}={size}"))).collect::<Result<_, _>>()?;
        if all.len().saturating_mul(choices.len()) > MOST_COMBINATIONS {
            return Err(Failure::new(format_args!("`--set` describes more than {MOST_COMBINATIONS} runs")));
        }
        all = all
            .iter()
            .flat_map(|first| choices.iter().map(move |choice| [first.as_slice(), choice].concat()))
            .collect();
    }
    Ok((!sizes.is_empty()).then_some(all))
}

impl Models<'_> {
    /// Success if all runs agree and there is one. A model that runs where the other one does not differs from it.
    fn judge(&self, runs: &[Run]) -> Outcome {
        let agrees = |run: &Run| match &run.result {
            Ok(comparison) => self.agree(comparison),
            Err(not_run) => not_run.side == Side::A,
        };
        let compared = runs.iter().any(|run| run.result.is_ok());
        if compared && runs.iter().all(agrees) { Outcome::Fine } else { Outcome::Findings }
    }

    fn agree(&self, comparison: &Comparison) -> bool {
        if self.common { comparison.agrees_in_common() } else { comparison.agrees() }
    }

    fn runs(
        &self,
        args: &CompareArgs,
        sets: &Option<Vec<Vec<Set>>>,
        progress: &Progress,
    ) -> Result<Vec<Run>, Failure> {
        let seed = args.feeds.seed.unwrap_or_default();
        let mut runs = Vec::new();
        let mut sets: Vec<Vec<Set>> = sets.clone().unwrap_or_else(|| vec![Vec::new()]);
        let first = self.one(sets.first().map_or(&[][..], Vec::as_slice), seed)?;
        // Without sizes, the variables are 1 and 0, too.
        if args.sizes.is_empty() && !first.sizes.is_empty() && self.given.is_empty() {
            for size in [1, 0] {
                sets.push(first.sizes.iter().map(|(dim, _)| (dim.clone(), size)).collect());
            }
        }
        let count = if self.given.is_empty() || args.feeds.seed.is_some() { args.runs } else { 1 };
        progress.count((sets.len() as u64).saturating_mul(count.into()), "runs");
        progress.end();
        for (index, set) in sets.iter().enumerate() {
            for repetition in 0..count {
                if index > 0 || repetition > 0 {
                    runs.push(self.one(set, seed.wrapping_add(repetition.into()))?);
                    progress.end();
                }
            }
        }
        runs.insert(0, first);
        Ok(runs)
    }

    /// Runs both models on inputs for these sizes and this seed.
    fn one(&self, set: &[Set], seed: u64) -> Result<Run, Failure> {
        let limits = &self.a.execution.limits;
        let prepared = Preparation::new(&self.a.model, self.inference, self.given, set, seed, limits)?;
        let Inputs { values, sizes, findings, is_refused, .. } = prepared.inputs()?;
        let result = if is_refused {
            let message =
                findings.diagnostics().first().map(|found| found.message.clone()).unwrap_or_default();
            Err(NotRun { side: Side::A, message, findings })
        } else {
            self.compared(&values, seed)?
        };
        Ok(Run { sizes, seed, result })
    }

    fn compared(&self, values: &[(String, Value)], seed: u64) -> Result<Result<Comparison, NotRun>, Failure> {
        let inputs: Vec<(&str, Value)> =
            values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        match self.planned.as_ref().map_err(Clone::clone).and_then(|pair| pair.run(&inputs, seed)) {
            Ok(comparison) => Ok(Ok(comparison)),
            Err(failed) => {
                let loaded = if failed.side == Side::A { self.a } else { self.b };
                if is_failure_of_command(failed.failure.kind()) {
                    return Err(as_failure(failed.failure).about(&loaded.name));
                }
                Ok(Err(NotRun::new(failed.side, &failed.failure, loaded)))
            }
        }
    }
}

impl NotRun {
    fn new(side: Side, failure: &EvalFailure, loaded: &Loaded) -> Self {
        let diagnostic = failure.diagnostic().clone();
        let message = match diagnostic.locus == Locus::model() {
            true => diagnostic.message.clone(),
            false => failure.to_string(),
        };
        let mut findings = Sink::new();
        findings.report(diagnostic);
        crate::report::select(&loaded.model, &mut findings);
        Self { side, message, findings }
    }
}

/// Reports why models do not run: if only the second one does not, or if no run of the first one succeeds.
fn findings(models: &Models<'_>, runs: &[Run], out: &mut Out) -> Result<(), Failure> {
    let compared = runs.iter().any(|run| run.result.is_ok());
    for (side, loaded) in [(Side::A, models.a), (Side::B, models.b)] {
        let mut sink = Sink::new();
        let of_side = runs.iter().filter_map(|run| run.result.as_ref().err()).filter(|run| run.side == side);
        if side == Side::B || !compared {
            // One example: the others are in the list of runs.
            of_side.take(1).for_each(|not_run| sink.merge(not_run.findings.clone()));
        }
        if !sink.is_empty() {
            let options = onnx_diag::render::text::Options::new(&loaded.name).with_style(&Colours);
            out.findings(&sink, &options);
        }
        out.input(loaded, sink)?;
    }
    Ok(())
}

/// The sizes and the seed of a run.
fn title(run: &Run) -> String {
    let sizes: Vec<String> = run.sizes.iter().map(|(dim, size)| format!("{}={size}", shown(dim))).collect();
    let seed = format!("seed {}", run.seed);
    if sizes.is_empty() { seed } else { format!("{}, {seed}", sizes.join(", ")) }
}
