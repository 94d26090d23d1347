//! `onnx compare`: runs two models on the same inputs and compares their outputs.

mod args;
mod cause;
mod engine;
mod pairing;
mod quantized;
mod show;
mod table;

use std::collections::{HashMap, HashSet};

use onnx_diag::{Diagnostic, Locus, Quoted, Sink};
use onnx_eval::compare::{CompareFailure, CompareOptions, Compared, Comparison, Pair, Side};
use onnx_eval::{Failure as EvalFailure, FailureKind, Value, fault};
use onnx_ir::{Places, ValueId};
use onnx_shape_infer::{InferOptions, Inference};
use onnx_types::{Dim, Symbol};

use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load};
use crate::output::{Colours, Out, shown};
use crate::progress::Progress;
use crate::run::{
    Given, Inputs, Preparation, Set, Sized, as_failure, eval_options, is_failure_of_command, name, parse_set,
    read_given, refuse_partial, runs_of,
};
use crate::weights::generate_stripped;

use cause::Weights;
use pairing::{Paired, Unmatched};

pub(crate) use args::{CompareArgs, ToleranceArgs};
pub(crate) use show::{difference as difference_text, difference_item};

/// Runs on generated inputs of one size, unless the user says how many.
const RUNS: u32 = 3;
/// Combinations of sizes that the models run with at most.
const MOST_COMBINATIONS: usize = 1000;

/// Both models, and how they run.
struct Models<'a> {
    a: &'a Loaded,
    b: &'a Loaded,
    planned: Result<Pair<'a>, CompareFailure>,
    inference: &'a Inference,
    given: &'a Given,
    /// Sizes that the second model declares.
    declared: Vec<(Symbol, i64)>,
    options: CompareOptions,
    /// Whether only common outputs count.
    common: bool,
    /// The values of the second model that have other names in the first one.
    paired: Paired,
    /// Which weights both models have.
    weights: Weights,
    /// The inputs of the second model that no value of the first one belongs to.
    unmatched: Unmatched,
}

/// A run of both models.
struct Run {
    sizes: Vec<(String, i64)>,
    /// The dimensions whose size neither the models nor the user decide.
    open: Vec<String>,
    /// Whether inputs are generated.
    is_generated: bool,
    seed: u64,
    result: Result<Comparison, NotRun>,
}

impl Run {
    /// Whether the first model fails on inputs that it declares.
    fn fails(&self) -> bool {
        matches!(&self.result, Err(not_run) if not_run.side == Side::A && !not_run.is_of_input)
    }
}

/// Why there is nothing to compare.
struct NotRun {
    side: Side,
    message: String,
    findings: Sink,
    /// Whether an input is the reason.
    is_of_input: bool,
}

pub(crate) fn run(args: &CompareArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if args.with.is_some() {
        return engine::run(args, out);
    }
    let b = engine::second(args)?;
    let sets = combinations(&args.sizes)?;
    let progress = Progress::start("comparing", 1);
    let [a, b] = [args.a.as_path(), b].map(|path| {
        progress.begin(&display_name(path));
        load(path, &args.input)
    });
    let (mut a, mut b) = (a?, b?);
    progress.aside(|| a.report_complete(&args.input.severity, out))?;
    progress.aside(|| b.report_complete(&args.input.severity, out))?;
    progress.aside(|| generate_stripped(&mut a, out).and_then(|()| generate_stripped(&mut b, out)))?;
    let registry = args.documents.registry(&args.input.bounds.execution())?;
    for loaded in [&mut a, &mut b] {
        args.documents.link(&mut loaded.model, &loaded.execution)?;
    }
    let given = read_given(&args.feeds, &a)?;
    refuse_partial(&a.model, &given, args.feeds.seed)?;
    let paired = pairing::pair(&a, &mut b, &registry, args)?;
    progress.aside(|| paired.describe(args, out));
    let unmatched = pairing::unmatched(&a, &b, &given);
    progress.aside(|| unmatched.warn(&a, &b, out));
    let sources = [a.source()?, b.source()?];
    let inference = a.infer(InferOptions::default().with_data(&sources[0]).with_registry(&registry))?;
    let options = CompareOptions::default()
        .with_tolerances(args.tolerances.tolerances())
        .with_inner(args.inner)
        .with_similarity(args.all);
    let execution = runs_of(&[&a, &b]);
    let [run_a, run_b] = sources
        .each_ref()
        .map(|source| eval_options(&execution, 0, &registry, args.threads).with_data(source));
    let models = Models {
        a: &a,
        b: &b,
        planned: Pair::new((&a.model, &run_a), (&b.model, &run_b), &options),
        inference: &inference,
        given: &given,
        declared: declared(&a, &inference, &b),
        options,
        common: args.common,
        paired,
        weights: Weights::default(),
        unmatched,
    };
    let runs = models.runs(args, &sets, &progress)?;
    let verdict = models.judge(&runs);
    progress.aside(|| findings(&models, &runs, out))?;
    progress.aside(|| tell(&models, &runs, verdict, out))?;
    match verdict {
        Verdict::Agree => Ok(Outcome::Fine),
        Verdict::Differ => Ok(Outcome::Findings),
        Verdict::Unknown => Err(nothing_compared(&models, &runs)),
    }
}

/// Writes what was compared.
fn tell(models: &Models<'_>, runs: &[Run], verdict: Verdict, out: &mut Out) -> Result<(), Failure> {
    if out.is_for_people() {
        out.text(&show::text(models, runs, verdict)?)?;
        return if models.options.similarity { out.text(&table::text(runs)?) } else { Ok(()) };
    }
    out.result_kind("compare/1", "runs");
    out.items(runs.iter().map(|run| show::item(models, run)).collect::<Result<_, _>>()?);
    Ok(())
}

/// The message of a diagnostic after the element of the model that it is about.
fn placed(found: &Diagnostic) -> String {
    match found.locus.steps() {
        [] => found.message.clone(),
        _ => format!("{:#}: {}", found.locus, found.message),
    }
}

/// What the runs say about the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Agree,
    Differ,
    /// Nothing was compared.
    Unknown,
}

fn nothing_compared(models: &Models<'_>, runs: &[Run]) -> Failure {
    let (a, b) = (models.a, models.b);
    if runs.iter().any(|run| run.result.is_ok()) {
        let outputs = b.model.graph(b.model.main_graph()).outputs();
        let what = if outputs.is_empty() {
            "has no outputs"
        } else {
            "has no output that is a value of the first model"
        };
        return Failure::new(format_args!("nothing was compared: {} {what}", b.name))
            .help("outputs of the second model are compared with values of the first one");
    }
    if !models.unmatched.is_empty() {
        return models.unmatched.failure(a, b);
    }
    let open = runs.iter().find_map(|run| run.sizes.iter().find(|(dim, _)| run.open.contains(dim)));
    let help = match open {
        Some((dim, size)) => {
            let larger = size.saturating_mul(16).max(16);
            format!("give other sizes, such as `--set {}={larger}`, or inputs (`--feeds DIR`)", shown(dim))
        }
        None => "give inputs with which it runs (`--feeds DIR`)".to_owned(),
    };
    Failure::new(format_args!("nothing was compared: {} does not run on any of the inputs", a.name))
        .help(help)
}

/// The sizes of each run: all combinations of what is given, or `None` without any.
fn combinations(sizes: &[String]) -> Result<Option<Vec<Vec<Set>>>, Failure> {
    let mut all: Vec<Vec<Set>> = vec![Vec::new()];
    for text in sizes {
        let (dims, list) = text.rsplit_once('=').unwrap_or((text, ""));
        let choices: Vec<Vec<Set>> =
            list.split(',').map(|size| parse_set(&format!("{dims}={size}"))).collect::<Result<_, _>>()?;
        if all.len().saturating_mul(choices.len()) > MOST_COMBINATIONS {
            return Err(Failure::new(format_args!("`--set` describes more than {MOST_COMBINATIONS} runs"))
                .help("give fewer sizes: the models run with each combination"));
        }
        all = all
            .iter()
            .flat_map(|first| choices.iter().map(move |choice| [first.as_slice(), choice].concat()))
            .collect();
    }
    Ok((!sizes.is_empty()).then_some(all))
}

/// Sizes of inputs that the second model declares and the first one leaves open.
fn declared(a: &Loaded, inference: &Inference, b: &Loaded) -> Vec<(Symbol, i64)> {
    let mut sizes = Vec::new();
    let inputs = a.model.graph(a.model.main_graph()).inputs();
    // Of several inputs of one name, the first one counts.
    let inputs: HashMap<&str, ValueId> =
        inputs.iter().rev().map(|&input| (name(&a.model, input), input)).collect();
    for &input in b.model.graph(b.model.main_graph()).inputs() {
        let of_a = inputs.get(name(&b.model, input));
        let dims = of_a.and_then(|&of_a| inference.shape(of_a)).unwrap_or_default();
        let declared = b.model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims());
        for (dim, declared) in dims.iter().zip(declared.unwrap_or_default()) {
            if let (Dim::Var(symbol), Some(size)) = (dim, declared.known()) {
                sizes.push((*symbol, size));
            }
        }
    }
    sizes
}

impl Models<'_> {
    const fn loaded(&self, side: Side) -> &Loaded {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    /// Whether all runs that compare anything agree. A model that runs where the other one does not differs from it.
    fn judge(&self, runs: &[Run]) -> Verdict {
        let of_run = |run: &Run| match &run.result {
            Ok(comparison) if self.agree(comparison) => Verdict::Agree,
            Ok(Comparison { outputs, only_in_b, .. })
                if outputs.is_empty() && (self.common || only_in_b.is_empty()) =>
            {
                Verdict::Unknown
            }
            Err(not_run) if not_run.side == Side::A => Verdict::Unknown,
            // A model without the values of its inputs says nothing about what it computes.
            Err(not_run) if not_run.is_of_input && !self.unmatched.is_empty() => Verdict::Unknown,
            Ok(_) | Err(_) => Verdict::Differ,
        };
        let verdicts: Vec<Verdict> = runs.iter().map(of_run).collect();
        let worst = [Verdict::Differ, Verdict::Agree].into_iter().find(|verdict| verdicts.contains(verdict));
        worst.unwrap_or(Verdict::Unknown)
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
        // Without sizes, the variables differ from each other, and are 1 and 0, too.
        if args.sizes.is_empty() && !first.open.is_empty() && self.given.is_empty() {
            sets.extend(different_sizes(&first));
            for size in [1, 0] {
                sets.push(first.open.iter().map(|dim| (dim.clone(), size)).collect());
            }
        }
        if !first.is_generated && args.runs.is_some_and(|runs| runs > 1) {
            return Err(Failure::new("`--runs` repeats runs on generated inputs, and all inputs are given")
                .help("leave it out"));
        }
        // One run proves little: signs, for example, are chosen at random.
        let default = if sets.len() == 1 { RUNS } else { 1 };
        let count = if first.is_generated { args.runs.unwrap_or(default) } else { 1 };
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
        let sized = Sized { set, declared: &self.declared };
        let mut prepared = Preparation::new(&self.a.model, self.inference, self.given, &sized, seed, limits)
            .map_err(|failure| failure.about(&self.a.name))?;
        let first = self.prepared(prepared.inputs()?, seed)?;
        if !set.is_empty() || !first.fails() || !first.is_generated {
            return Ok(first);
        }
        // As `onnx run` does: an operator may need more than the smallest sizes.
        while prepared.grow() {
            // Values of these sizes may exceed a limit.
            let Ok(larger) = prepared.inputs() else { continue };
            let run = self.prepared(larger, seed)?;
            if !matches!(&run.result, Err(not_run) if not_run.side == Side::A) {
                return Ok(run);
            }
        }
        Ok(first)
    }

    /// Runs both models on these inputs.
    fn prepared(&self, inputs: Inputs, seed: u64) -> Result<Run, Failure> {
        let Inputs { values, sizes, open, generated, findings, is_refused } = inputs;
        let result = if is_refused {
            let message = findings.diagnostics().first().map(placed).unwrap_or_default();
            Err(NotRun { side: Side::A, message, findings, is_of_input: true })
        } else {
            self.compared(&values, seed)?
        };
        Ok(Run { sizes, open, is_generated: !generated.is_empty(), seed, result })
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

/// Sizes for the variables of a run of which no two are equal; `None` if the run has such sizes. Otherwise one variable in the
/// place of another is not found.
fn different_sizes(run: &Run) -> Option<Vec<Set>> {
    let is_open = |dim: &String| run.open.contains(dim);
    let mut used: HashSet<i64> =
        run.sizes.iter().filter(|(dim, _)| !is_open(dim)).map(|(_, size)| *size).collect();
    let mut set = Vec::new();
    let mut is_changed = false;
    for (dim, size) in run.sizes.iter().filter(|(dim, _)| is_open(dim)) {
        let free = (*size..).find(|size| !used.contains(size)).unwrap_or(*size);
        is_changed |= free != *size;
        used.insert(free);
        set.push((dim.clone(), free));
    }
    is_changed.then_some(set)
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
        Self { side, message, findings, is_of_input: failure.kind() == FailureKind::Input }
    }
}

/// Reports outputs that differ, and why models do not run: if only the second one does not, or if no run of the first one
/// succeeds.
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
        // People read them in the list of runs.
        sink.merge(differing(models, side, runs));
        out.input(loaded, sink)?;
    }
    Ok(())
}

/// The outputs of a model that differ, each as the first run that shows it has it: for the first model, those that the second
/// one does not have.
fn differing(models: &Models<'_>, side: Side, runs: &[Run]) -> Sink {
    let loaded = if side == Side::A { models.a } else { models.b };
    let (model, graph) = (&loaded.model, loaded.model.main_graph());
    let mut sink = Sink::new();
    let places = Places::new(model);
    let runs: Vec<(&Run, Found<'_>)> = runs.iter().filter_map(|run| Some((run, Found::new(run)?))).collect();
    for (index, output) in model.graph(graph).outputs().iter().enumerate() {
        let name = name(model, output.value());
        let found = runs.iter().find_map(|(run, found)| {
            let how = found.difference(models, side, name)?;
            Some(format!("output {} differs ({}): {how}", Quoted(name), title(&run.sizes, run.seed)))
        });
        if let Some(message) = found {
            let locus = places.graph_output(graph, index);
            sink.report(Diagnostic::new(&fault::OUTPUT_DIFFERS, locus, message));
        }
    }
    crate::report::select(model, &mut sink);
    sink
}

/// The outputs of a run that differ, by their names: each output of the models is looked up.
struct Found<'a> {
    comparison: &'a Comparison,
    differing: HashMap<&'a str, &'a Compared>,
    only_in_a: HashSet<&'a str>,
    only_in_b: HashSet<&'a str>,
}

impl<'a> Found<'a> {
    /// `None` if the models did not run.
    fn new(run: &'a Run) -> Option<Self> {
        let comparison = run.result.as_ref().ok()?;
        // Of several outputs of one name, the first one counts.
        let outputs = comparison.outputs.iter().rev().filter(|output| !output.difference.agrees());
        Some(Self {
            comparison,
            differing: outputs.map(|output| (output.name.as_str(), output)).collect(),
            only_in_a: comparison.only_in_a.iter().map(String::as_str).collect(),
            only_in_b: comparison.only_in_b.iter().map(String::as_str).collect(),
        })
    }

    /// How an output of one of the models differs; `None` if it does not.
    fn difference(&self, models: &Models<'_>, side: Side, name: &str) -> Option<String> {
        let is_in = |names: &HashSet<&str>| !models.common && names.contains(name);
        if side == Side::A {
            let is_missing = is_in(&self.only_in_a) && !self.comparison.outputs.is_empty();
            return is_missing.then(|| format!("{} has no output of this name", models.b.name));
        }
        match self.differing.get(name) {
            Some(output) => Some(show::difference(&output.difference)),
            None => is_in(&self.only_in_b).then(|| format!("{} has no value of this name", models.a.name)),
        }
    }
}

/// The sizes and the seed of a run.
fn title(sizes: &[(String, i64)], seed: u64) -> String {
    let sizes: Vec<String> = sizes.iter().map(|(dim, size)| format!("{}={size}", shown(dim))).collect();
    let seed = format!("seed {seed}");
    if sizes.is_empty() { seed } else { format!("{}, {seed}", sizes.join(", ")) }
}
