//! `onnx run`: runs a model on given or generated inputs.

mod args;
pub(crate) mod files;
mod given;
mod prepare;
mod recorded;
mod show;
mod sizes;
mod stats;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;

use onnx_codec::WriteOptions;
use onnx_diag::{Caps, Diagnostic, Policy, Severity, Sink};
use onnx_eval::{EvalOptions, Evaluator, FailureKind, Value, first_not_finite};
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_schema::Registry;
use onnx_select::{Element, Selectors};
use onnx_shape_infer::{InferOptions, Inference};
use onnx_types::Execution;
use onnx_types::tensor::{DataSource as _, Payload};
use serde_json::json;

use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, display_name, load};
use crate::json::JsonText;
use crate::limits;
use crate::output::{Colours, Out, shown};
use crate::progress::Progress;
use crate::selection::Context;
use crate::size::plural;
use crate::weights::generate_stripped;
use crate::{rows, store};

pub(crate) use args::{FeedArgs, RunArgs};
pub(crate) use files::{Place, extension, value as file_value, write as write_values};
pub(crate) use given::{Given, name, read as read_given, read_feeds, read_outputs};
pub(crate) use prepare::{Inputs, Preparation, missing, refuse_partial};
pub(crate) use show::{elements, number, words};
pub(crate) use sizes::{Set, Sized, failure as refused_size, parse as parse_set};
pub(crate) use stats::node_name;

use files::WrittenFile;
use given::Ports;
use recorded::{Compared, Expected};
use stats::{Stats, Watcher};

pub(crate) fn run(args: &RunArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let set: Vec<Set> =
        args.sizes.iter().map(|text| sizes::parse(text)).collect::<Result<Vec<_>, _>>()?.concat();
    let progress = Progress::start("running", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report_complete(&args.input.severity, out))?;
    progress.aside(|| generate_stripped(&mut loaded, out))?;
    let registry = args.documents.registry_with_bodies(&mut loaded.model, &loaded.execution)?;
    let seed = args.feeds.seed.unwrap_or_default();
    let given = given::read(&args.feeds, &loaded)?;
    refuse_partial(&loaded.model, &given, args.feeds.seed)?;
    let wanted = Context::new(&loaded)?.values(&loaded.model, &args.at)?;
    let files = Files::new(args, &loaded, &wanted)?;
    let source = loaded.source()?;
    let inference = loaded.infer(InferOptions::default().with_data(&source).with_registry(&registry))?;
    let limits = &loaded.execution.limits;
    let sized = Sized { set: &set, declared: &[] };
    let mut prepared = Preparation::new(&loaded.model, &inference, &given, &sized, seed, limits)?;
    let inputs = prepared.inputs()?;
    progress.aside(|| findings(&loaded, &inputs.findings, out));
    if inputs.is_refused {
        progress.aside(|| suggest(prepared.suggested(), out));
        out.input(&loaded, inputs.findings)?;
        return Ok(Outcome::Findings);
    }
    progress.aside(|| announce(&inputs, seed, out));
    files.save_inputs(&inputs, &progress, out)?;
    let options = eval_options(&runs_of(&[&loaded]), seed, &registry, args.threads).with_data(&source);
    let runner = Runner { loaded: &loaded, options: &options, wanted: &wanted, progress: &progress };
    let (inputs, retried, ran) = match runner.run(inputs, &mut prepared) {
        Ok(ran) => ran,
        Err(failure) => {
            let infer = || InferOptions::default().with_data(&source).with_registry(&registry);
            let help = help_of_defect(&failure, &loaded, infer()).or_else(|| {
                help_of_sizes(&failure, &set, || {
                    let sizes = prepared.fixed();
                    let with = loaded.infer(infer().with_sizes(&sizes));
                    with.is_ok_and(|with| is_contradicted(&inference, &with))
                })
            });
            return failed(&loaded, failure, help, out);
        }
    };
    if let Some(retried) = &retried {
        progress.aside(|| {
            warn_of_sizes(&retried.message, &inputs, out);
            announce(&inputs, seed, out);
        });
        files.save_inputs(&inputs, &progress, out)?;
    }
    files.write_values(&ran, &progress, out)?;
    let compared = files.compare(&ran.outputs, &progress, out)?;
    let found = judged(args, &loaded.model, &ran.findings, compared.as_deref())?;
    progress.aside(|| findings(&loaded, &found, out));
    let outcome = if found.has_errors() { Outcome::Findings } else { Outcome::Fine };
    let found = merged(&inputs.findings, found);
    let stats = args.stats.then_some(&ran.stats);
    let shown = Shown { inputs: &inputs, retried, seed, ran: &ran, stats, compared: compared.as_deref() };
    progress.aside(|| shown.describe(&loaded, found, out))?;
    Ok(outcome)
}

/// Tells that larger inputs were generated, and for which reason.
fn warn_of_sizes(reason: &str, inputs: &Inputs, out: &Out) {
    let sizes: Vec<String> =
        inputs.sizes.iter().map(|(dim, size)| format!("--set {}={size}", shown(dim))).collect();
    let message = format!("retried, because the model fails on small inputs: {reason}");
    out.warning(&message, Some(&format!("`{}` chooses these sizes", sizes.join(" "))));
}

/// The files of a run other than the model.
struct Files<'a> {
    args: &'a RunArgs,
    loaded: &'a Loaded,
    place: Option<Place<'a>>,
    expected: Option<Expected>,
}

impl<'a> Files<'a> {
    fn new(args: &'a RunArgs, loaded: &'a Loaded, wanted: &[ValueId]) -> Result<Self, Failure> {
        let model = &loaded.model;
        let inner = inner_values(model, wanted).map(|value| name(model, value));
        let names: Vec<&str> = output_names(model).into_iter().chain(inner).collect();
        let place = args.output.as_deref().map(|path| Place::new(path, args.to, &names)).transpose()?;
        if let Some(path) = &args.save_inputs {
            recorded::check_directory(path, &loaded.model)?;
        }
        Ok(Self { args, loaded, place, expected: Expected::read(args, loaded)? })
    }

    /// Neither the model nor the values that were read are replaced.
    fn options(&self) -> Result<WriteOptions, Failure> {
        let model = &self.loaded.model;
        let feeds = &self.args.feeds;
        let mut read = self.loaded.files()?;
        for feed in &feeds.feed {
            // The name of an input can contain the sign, too.
            let files = feed.match_indices('=').filter_map(|(at, _)| feed.get(at.saturating_add(1)..));
            files.for_each(|file| read.add_file(file));
        }
        let outputs = model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect();
        let recorded =
            [(&feeds.feeds, given::inputs(model).to_vec(), "input"), (&self.args.expect, outputs, "output")];
        for (path, values, kind) in recorded {
            let Some(path) = path else { continue };
            Ports { model, values, kind }.recorded(path).iter().for_each(|file| read.add_file(file));
        }
        Ok(store::options(self.args.write, read))
    }

    fn save_inputs(&self, inputs: &Inputs, progress: &Progress, out: &mut Out) -> Result<(), Failure> {
        let Some(path) = &self.args.save_inputs else { return Ok(()) };
        let options = self.options()?;
        let written = recorded::save(path, self.loaded, inputs, &options)?;
        written_files(&written, path, progress, out);
        Ok(())
    }

    /// Writes the outputs, and the inner values that are selected.
    fn write_values(&self, ran: &Ran, progress: &Progress, out: &mut Out) -> Result<(), Failure> {
        let (Some(path), Some(place)) = (&self.args.output, &self.place) else { return Ok(()) };
        let options = self.options()?;
        let model = &self.loaded.model;
        let mut values = ran.outputs.clone();
        let wanted: Vec<ValueId> = ran.inner.iter().map(|&(value, _)| value).collect();
        let inner: HashSet<ValueId> = inner_values(model, &wanted).collect();
        let inner = ran.inner.iter().filter(|(value, _)| inner.contains(value));
        values.extend(
            inner.filter_map(|(value, found)| Some((name(model, *value).to_owned(), found.clone()?))),
        );
        let written = files::write(place, &values, ran.outputs.len(), &options, &self.loaded.execution)?;
        written_files(&written, path, progress, out);
        Ok(())
    }

    fn compare(
        &self,
        outputs: &[(String, Value)],
        progress: &Progress,
        out: &Out,
    ) -> Result<Option<Vec<Compared>>, Failure> {
        let (Some(path), Some(expected)) = (&self.args.expect, &self.expected) else { return Ok(None) };
        let compared = expected.compare(self.args, outputs, &self.loaded.execution)?;
        progress.aside(|| {
            for name in expected.missing(outputs) {
                let message = format!("no value is recorded for the output `{}`", shown(name));
                out.warning(&message, Some("`onnx run -o DIR` writes the values of all outputs"));
            }
            out.summary(&recorded::summary(&compared, path));
        });
        Ok(Some(compared))
    }
}

fn written_files(written: &[WrittenFile], path: &Path, progress: &Progress, out: &mut Out) {
    let files = plural(written.len() as u64, "file");
    written.iter().for_each(|(path, format, bytes)| out.output(path, Some(format), *bytes, true));
    progress.aside(|| out.summary(&format!("wrote {files} to {}", rows::name(path))));
}

/// What a run shows about a model, with the severities that the user wants.
fn judged(
    args: &RunArgs,
    model: &Model,
    found: &[Diagnostic],
    compared: Option<&[Compared]>,
) -> Result<Sink, Failure> {
    let severity = &args.input.severity;
    let caps = severity.caps().unwrap_or(Caps::DEFAULT);
    let mut sink = Sink::with(severity.policy(Policy::new())?, caps);
    for diagnostic in found {
        sink.report(diagnostic.clone());
    }
    recorded::report(model, compared.unwrap_or_default(), &mut sink);
    crate::report::select(model, &mut sink);
    Ok(sink)
}

/// The diagnostics of both, with the severities that they have.
fn merged(first: &Sink, second: Sink) -> Sink {
    let all = first.diagnostics().iter().chain(second.diagnostics());
    let policy = all.fold(Policy::new(), |policy, found| policy.set(found.rule, found.severity));
    let mut merged = Sink::with(policy, Caps::NONE);
    merged.merge(first.clone());
    merged.merge(second);
    merged
}

/// The selected values that are not outputs.
fn inner_values<'a>(model: &'a Model, wanted: &'a [ValueId]) -> impl Iterator<Item = ValueId> + 'a {
    let outputs = model.graph(model.main_graph()).outputs();
    let outputs: HashSet<ValueId> = outputs.iter().map(GraphOutput::value).collect();
    wanted.iter().copied().filter(move |value| !outputs.contains(value))
}

fn output_names(model: &Model) -> Vec<&str> {
    let outputs = model.graph(model.main_graph()).outputs();
    outputs.iter().map(|output| name(model, output.value())).collect()
}

/// What a run gave.
struct Ran {
    /// The outputs by name.
    outputs: Vec<(String, Value)>,
    /// The selected inner values.
    inner: Vec<(ValueId, Option<Value>)>,
    /// What the nodes took.
    stats: Stats,
    /// What the values show about the model.
    findings: Vec<Diagnostic>,
}

/// The sizes with which a model fails that runs with larger ones.
struct Retried {
    sizes: Vec<(String, i64)>,
    message: String,
}

/// A model that runs on inputs of several sizes.
struct Runner<'a> {
    loaded: &'a Loaded,
    options: &'a EvalOptions<'a>,
    wanted: &'a [ValueId],
    progress: &'a Progress,
}

impl Runner<'_> {
    /// Runs the model; if an operator fails on generated inputs, also on larger ones. The failure is the first one.
    fn run(
        &self,
        inputs: Inputs,
        prepared: &mut Preparation<'_>,
    ) -> Result<(Inputs, Option<Retried>, Ran), onnx_eval::Failure> {
        let evaluator = Evaluator::new(&self.loaded.model, self.options)?;
        let failure = match self.once(&evaluator, &inputs) {
            Ok(ran) => return Ok((inputs, None, ran)),
            Err(failure) => failure,
        };
        if inputs.generated.is_empty() || failure.kind() != FailureKind::Operator {
            return Err(failure);
        }
        while prepared.grow() {
            // Values of these sizes may exceed a limit.
            let Ok(larger) = prepared.inputs() else { continue };
            match self.once(&evaluator, &larger) {
                Ok(ran) => {
                    let retried = Retried { sizes: inputs.sizes, message: failure.to_string() };
                    return Ok((larger, Some(retried), ran));
                }
                Err(other) if other.kind() == FailureKind::Stopped => return Err(other),
                Err(_) => {}
            }
        }
        Err(failure)
    }

    fn once(&self, evaluator: &Evaluator<'_>, inputs: &Inputs) -> Result<Ran, onnx_eval::Failure> {
        let model = &self.loaded.model;
        let watcher = Watcher::new(model, self.wanted, self.progress);
        let by_name: HashMap<&str, &Value> =
            inputs.values.iter().rev().map(|(name, value)| (name.as_str(), value)).collect();
        let known = |&input: &ValueId| by_name.get(name(model, input)).map(|&value| value.clone());
        let values: Vec<Option<Value>> = given::inputs(model).iter().map(known).collect();
        for (&input, value) in given::inputs(model).iter().zip(&values) {
            value.iter().for_each(|value| watcher.declare(input, value));
        }
        let outputs = evaluator.run_observed(values.clone(), &watcher)?;
        let graph = model.graph(model.main_graph());
        for (output, value) in graph.outputs().iter().zip(&outputs) {
            watcher.declare(output.value(), value);
        }
        let mut findings = watcher.findings();
        findings.extend(first_not_finite(evaluator, &values, &outputs)?);
        let inner = self.wanted.iter().map(|&value| {
            let of_input = || given::inputs(model).contains(&value).then(|| known(&value)).flatten();
            let constant = || {
                let constant = model.value(value).initializer()?.dense()?;
                Some(Value::from(constant.clone()))
            };
            (value, watcher.value(value).or_else(of_input).or_else(constant))
        });
        let inner = inner.collect();
        let names = graph.outputs().iter().map(|output| name(model, output.value()).to_owned());
        Ok(Ran { outputs: names.zip(outputs).collect(), inner, stats: watcher.stats(), findings })
    }
}

/// The context in which the commands run models: they may take as long as the largest one needs.
pub(crate) fn runs_of(models: &[&Loaded]) -> Execution {
    let bytes = models.iter().map(|loaded| weight_bytes(loaded)).max().unwrap_or(0);
    limits::for_weights(&models.first().map_or(Execution::DEFAULT, |loaded| loaded.execution.clone()), bytes)
}

/// Bytes of the weights of a model: of its file, and of the files of its external data.
fn weight_bytes(loaded: &Loaded) -> u64 {
    let Ok(source) = loaded.source() else { return loaded.bytes };
    let model = &loaded.model;
    let constants = model.all_graphs().flat_map(|graph| model.initializers(graph));
    let locations = constants.filter_map(|value| match model.constant_tensor(value)?.payload() {
        Payload::External(external) => external.location().ok(),
        _ => None,
    });
    let locations: HashSet<&str> = locations.collect();
    let sizes = locations.into_iter().filter_map(|location| source.len(location).ok());
    sizes.fold(loaded.bytes, u64::saturating_add)
}

/// How the commands run models.
pub(crate) fn eval_options<'a>(
    execution: &Execution,
    seed: u64,
    registry: &'a Registry,
    threads: Option<NonZeroUsize>,
) -> EvalOptions<'a> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok());
    EvalOptions::default()
        .with_execution(execution.clone().with_seed(seed))
        .with_registry(registry)
        .with_threads(threads.map_or(1, NonZeroUsize::get))
}

/// Lists what contradicts the model on standard error.
pub(crate) fn findings(loaded: &Loaded, found: &Sink, out: &Out) {
    if !found.is_empty() {
        let options = onnx_diag::render::text::Options::new(&loaded.name).with_style(&Colours);
        out.findings(found, &options);
    }
}

/// Tells which sizes satisfy the conditions that those of the user do not.
fn suggest(sizes: &[Set], out: &Out) {
    if !sizes.is_empty() {
        let sizes: Vec<String> =
            sizes.iter().map(|(dim, size)| format!("--set {}={size}", shown(dim))).collect();
        let help = format!("`{}` satisfies them", sizes.join(" "));
        out.warning("the sizes that `--set` gives contradict the conditions of the model", Some(&help));
    }
}

/// Tells on standard error which inputs are generated.
fn announce(inputs: &Inputs, seed: u64, out: &Out) {
    if inputs.generated.is_empty() {
        return;
    }
    let by_name: HashMap<&str, &Value> =
        inputs.values.iter().rev().map(|(name, value)| (name.as_str(), value)).collect();
    let of = |name: &String| {
        let value = by_name.get(name.as_str());
        format!("`{}` {}", shown(name), value.map_or_else(String::new, |value| value.describe()))
    };
    let list: Vec<String> = inputs.generated.iter().map(of).collect();
    let count = plural(list.len() as u64, "input");
    out.summary(&format!("generated {count} with seed {seed}: {}", list.join(", ")));
}

/// Returns `true` if inference with sizes that the user sets finds a defect that it does not find without them, as
/// `onnx cost` does.
fn is_contradicted(without: &Inference, with: &Inference) -> bool {
    let known = without.findings().diagnostics();
    let is_known = |found: &Diagnostic| {
        known.iter().any(|other| other.rule.code == found.rule.code && other.locus == found.locus)
    };
    let mut found = with.findings().diagnostics().iter().filter(|found| found.severity != Severity::Note);
    found.any(|found| !is_known(found))
}

/// The help of a failure that inference, which knows no input, finds at the same node.
fn help_of_defect(
    failure: &onnx_eval::Failure,
    loaded: &Loaded,
    mut options: InferOptions<'_>,
) -> Option<String> {
    options.check_types = true;
    let inferred = loaded.infer(options).ok()?;
    let node = &failure.diagnostic().locus;
    let mut found = inferred.findings().diagnostics().iter();
    let is_found =
        found.any(|found| found.severity == Severity::Error && found.locus.steps().starts_with(node.steps()));
    let help =
        "the node fails with every input: `onnx check MODEL` shows the types and sizes that contradict it";
    (is_found && !node.steps().is_empty()).then(|| help.to_owned())
}

/// The help of a failure on generated inputs whose sizes the user sets.
fn help_of_sizes(
    failure: &onnx_eval::Failure,
    set: &[Set],
    is_contradicted: impl FnOnce() -> bool,
) -> Option<String> {
    if failure.kind() != FailureKind::Operator || set.is_empty() {
        return None;
    }
    let sizes: Vec<String> = set.iter().map(|(dim, size)| format!("{}={size}", shown(dim))).collect();
    let sizes = sizes.join(",");
    Some(match is_contradicted() {
        true => format!("the model does not run with the sizes of `--set {sizes}`: give others"),
        false => format!(
            "the sizes of `--set {sizes}` may be the cause; if not, compare the operands with the specification of the operator"
        ),
    })
}

/// A run that failed: a property of the model or its inputs is a diagnostic, all else a failure of the command.
fn failed(
    loaded: &Loaded,
    failure: onnx_eval::Failure,
    help: Option<String>,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    if is_failure_of_command(failure.kind()) {
        return Err(as_failure(failure).about(&loaded.name));
    }
    let mut sink = Sink::new();
    let diagnostic = failure.diagnostic().clone();
    sink.report(match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    });
    crate::report::select(&loaded.model, &mut sink);
    let options = onnx_diag::render::text::Options::new(&loaded.name).with_style(&Colours);
    out.findings(&sink, &options);
    out.input(loaded, sink)?;
    Ok(Outcome::Findings)
}

/// Whether the command cannot do its work, in contrast to a model that does not run on these inputs.
pub(crate) const fn is_failure_of_command(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::Input | FailureKind::Operator | FailureKind::Model)
}

/// A failure that is not due to the model.
pub(crate) fn as_failure(failure: onnx_eval::Failure) -> Failure {
    if failure.kind() == FailureKind::Stopped { onnx_types::Stopped.into() } else { failure.into() }
}

impl LibraryError for onnx_eval::Failure {
    fn limit(&self) -> Option<&'static str> {
        Self::limit(self)
    }

    fn rule(&self) -> &'static onnx_diag::Rule {
        self.diagnostic().rule
    }

    fn help(&self) -> Option<String> {
        self.diagnostic().help.clone()
    }
}

/// A run as users see it.
struct Shown<'a> {
    inputs: &'a Inputs,
    retried: Option<Retried>,
    seed: u64,
    ran: &'a Ran,
    stats: Option<&'a Stats>,
    compared: Option<&'a [Compared]>,
}

impl Shown<'_> {
    /// Writes the values.
    fn describe(self, loaded: &Loaded, findings: Sink, out: &mut Out) -> Result<(), Failure> {
        let (text, items) = match out.is_for_people() {
            true => (self.text(loaded, out)?, Vec::new()),
            false => (String::new(), vec![self.item(loaded)?]),
        };
        out.text(&text)?;
        out.result_kind("run/1", "models");
        let (format, bytes) = (loaded.format.id(), loaded.bytes);
        out.input_of(&loaded.name, Some(format), Some(bytes), findings, items)
    }

    fn text(&self, loaded: &Loaded, out: &Out) -> Result<String, Failure> {
        let (model, interrupt) = (&loaded.model, &loaded.execution.interrupt);
        let mut text = String::new();
        for (value, found) in &self.ran.inner {
            match found {
                Some(found) => text.push_str(&show::text(name(model, *value), found, interrupt)?),
                None => {
                    let name = shown(name(model, *value));
                    let help = "the node is in a branch or loop body that no input reached";
                    out.warning(&format!("`{name}` has no value: its node did not run"), Some(help));
                }
            }
        }
        for (name, value) in &self.ran.outputs {
            text.push_str(&show::text(name, value, interrupt)?);
        }
        if let Some(stats) = self.stats {
            text.push_str(&show::stats(stats)?);
        }
        Ok(text)
    }

    fn item(&self, loaded: &Loaded) -> Result<JsonText, Failure> {
        let (model, interrupt) = (&loaded.model, &loaded.execution.interrupt);
        let selectors = Selectors::new(model);
        let listed = |id: ValueId, value: Option<&Value>| {
            let mut object = match value {
                Some(value) => show::object(name(model, id), value, interrupt)?,
                None => json!({ "name": name(model, id), "type": null, "tensor": null, "items": [] }),
            };
            if let Some(fields) = object.as_object_mut() {
                fields.insert("selector".to_owned(), json!(selectors.text(Element::Value(id))));
            }
            Ok::<_, Failure>(object)
        };
        let outputs = model.graph(model.main_graph()).outputs().iter().zip(&self.ran.outputs);
        let outputs: Vec<_> = outputs
            .map(|(output, (_, value))| listed(output.value(), Some(value)))
            .collect::<Result<_, _>>()?;
        let inner: Vec<_> =
            self.ran.inner.iter().map(|(id, value)| listed(*id, value.as_ref())).collect::<Result<_, _>>()?;
        let sizes = |sizes: &[(String, i64)]| -> Vec<_> {
            sizes.iter().map(|(dim, size)| json!({ "dim": dim, "size": size })).collect()
        };
        let retried = self.retried.as_ref();
        let item = json!({
            "name": loaded.name,
            "seed": self.seed,
            "generated": self.inputs.generated,
            "sizes": sizes(&self.inputs.sizes),
            "retried": retried.map(|first| json!({ "sizes": sizes(&first.sizes), "message": first.message })),
            "outputs": outputs,
            "inner": inner,
            "expected": self.compared.map(recorded::items),
            "stats": self.stats,
        });
        JsonText::of(&item)
    }
}
