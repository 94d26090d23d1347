//! `onnx rewrite`: passes on a model, with the proof of their edits.

mod bisect;
mod journal;
mod refused;
mod resize;
mod why;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use onnx_codec::file::{FileKind, write_file};
use onnx_ir::{Model, NodeId};
use onnx_pass::{
    Condition, Entry, Exactness, Idioms, Level, OpposedPasses, Pass, PassOptions, PassRun, Pipeline,
    PipelineReport, UnknownPass, Verdict,
};
use onnx_rewrite::IdiomSet;
use serde_json::{Value, json};

use crate::args::{Changed, DocumentArgs, ExternalArgs, InPlaceArgs, InputArgs, ModelOutputArgs};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::json::{self, JsonText};
use crate::output::{Out, shown};
use crate::precondition::{require_valid_nodes, warn_of_type_errors};
use crate::progress::Progress;
use crate::run::runs_of;
use crate::store::SizeBefore;
use crate::weights::bytes::DataBytes;
use crate::{other_tools, report, rule_files, selection, size, store, weights};

pub(crate) use why::Why;

const USAGE: &str =
    "onnx rewrite [OPTIONS] --pass <PASS> <IN>\n       onnx rewrite [OPTIONS] --rules <FILE> <IN>";

const EXAMPLES: &str = "\
Every edit is proved before it is made: that the model stays in order, breaks no rule and has no
coarser types; with --prove, also that it computes the same on generated inputs, and at the end
the whole model. An edit whose proof fails is not made, and reported. Without -o, nothing is
written: the summary states what would be.

Examples:
  onnx rewrite model.onnx --pass no-identities,no-dead-nodes -o out.onnx
  onnx rewrite model.onnx --pass known-elements --prove          what would it do, and is it right?
  onnx rewrite model.onnx --pass folded-constants --exact -o out.onnx
  onnx rewrite model.onnx --pass no-identities --only 'near(s, 3)' -o out.onnx
  onnx rewrite model.onnx --rules mine.onnxrules --prove -o out.onnx
  onnx rewrite model.onnx --pass unique-subexpressions --journal edits.json -o out.onnx
  onnx explain --list passes                                     all passes";

/// Arguments of `onnx rewrite`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
#[command(group(ArgGroup::new("edits").required(true).multiple(true).args(["passes", "rules"])))]
pub(crate) struct RewriteArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// The passes to run, in order; each is preceded by those that it relies on.
    #[arg(long = "pass", value_name = "PASS", value_delimiter = ',')]
    pub(crate) passes: Vec<String>,
    /// Repeat the passes until none of them edits.
    #[arg(long)]
    pub(crate) repeat: bool,
    #[command(flatten)]
    pub(crate) edits: EditArgs,
}

/// What edits are allowed, how they are proved, and where the result is written.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// A file with rewrite rules, which are applied after the passes. In `onnx simplify`, each must lower the cost of the model; `onnx
    /// rewrite` applies a rule whatever it costs, but not to what it made.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rules: Vec<PathBuf>,
    /// Only edits after which every implementation computes the same bits.
    #[arg(long)]
    pub(crate) exact: bool,
    /// A condition that edits may rely on; those that they do are written into the metadata of the output.
    #[arg(long, value_enum, value_name = "CONDITION", value_delimiter = ',')]
    pub(crate) assume: Vec<Assume>,
    /// Also compare what is computed before and after each edit.
    #[arg(long)]
    pub(crate) prove: bool,
    /// Also make edits whose results cannot be compared, and with `--prove` name them: because a result is of an operator that no
    /// document (`--ops`) declares as deterministic, for example.
    #[arg(long, hide_short_help = true)]
    pub(crate) accept_untested: bool,
    /// Write each edit that is refuted into this folder, as a claim with the inputs for which its sides differ; `onnx check FILE
    /// --prove` runs it.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "prove", hide_short_help = true)]
    pub(crate) reproducers: Option<PathBuf>,
    /// Only edits of these nodes: a selector, such as the name of a node or `near("NAME", 3)`. Passes that edit the model as a
    /// whole are refused.
    #[arg(long, value_name = "SELECTOR", hide_short_help = true)]
    pub(crate) only: Vec<String>,
    /// Nodes that stay as they are: a selector, such as the name of a node, `near("NAME", 3)` or `Softmax()`.
    #[arg(long, value_name = "SELECTOR", hide_short_help = true)]
    pub(crate) except: Vec<String>,
    /// Also compute the constants that widen weights in a narrow format: `DequantizeLinear`, and `Cast` from `float16`. The file
    /// grows, and a runtime computes in the wide format.
    #[arg(long, hide_short_help = true)]
    pub(crate) fold_quantized: bool,
    /// Find the first edit after which a command fails: `--bisect -- COMMAND {}`, where `{}` is the file of a model. Nothing is
    /// written. The command succeeds with status 0; 125 means that the model cannot be tried, 126 and 127 end the search.
    #[arg(long, requires = "command", hide_short_help = true)]
    pub(crate) bisect: bool,
    /// The command of `--bisect`, and its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "bisect", hide_short_help = true)]
    pub(crate) command: Vec<OsString>,
    /// Write into the metadata of each node that a pass made the name of the pass and the nodes of the input that it goes back to.
    #[arg(long, hide_short_help = true)]
    pub(crate) journal_metadata: bool,
    /// Write the edits, and for each node of the result its pass and its source nodes, into this file, as JSON.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) journal: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    /// Work with what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// A condition that edits may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assume {
    /// No number at run time is a NaN.
    NoNan,
    /// No number at run time is an infinity or a NaN.
    Finite,
    /// No number at run time is −0.0.
    NoNegativeZero,
    /// The guards of inferred results hold: `onnx infer --guards` lists them.
    Guards,
}

/// The pass that computes constants.
const FOLDING: &str = "folded-constants";

pub(crate) fn run(args: &RewriteArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let execution = args.edits.input.bounds.execution();
    let registry = args.edits.documents.registry(&execution)?;
    let names: Vec<&str> = args.passes.iter().map(|name| name.trim()).collect();
    let named = Pipeline::named(&names, &registry).map_err(|error| unknown(&error))?;
    let mut passes: Vec<Pass> = named.passes().cloned().collect();
    if args.edits.fold_quantized && !passes.iter().any(|pass| pass.name() == FOLDING) {
        return Err(Failure::new(format_args!(
            "`--fold-quantized` is for the pass `{FOLDING}`, which does not run"
        ))
        .help(format!("add `--pass {FOLDING}`, or leave it out")));
    }
    for path in &args.edits.rules {
        passes.push(rule_files::load_whatever_cost(path, &registry, &execution)?.pass(display_name(path)));
    }
    let pipeline = Pipeline::new().then(passes);
    let pipeline = if args.repeat { pipeline.repeated().map_err(|error| opposed(&error))? } else { pipeline };
    edit(
        &args.input_file,
        &args.edits,
        &pipeline,
        &Kind { verb: "rewriting", report: "rewrite/1", describe, why: None, sizes: &[], idioms: None },
        out,
    )
}

/// How a command that runs a pipeline presents itself.
pub(crate) struct Kind<'a> {
    pub(crate) verb: &'static str,
    pub(crate) report: &'static str,
    /// Tells what was done: the report, the model afterwards, and the number of nodes before.
    pub(crate) describe: fn(&PipelineReport, &Before, &Model, &Out),
    /// The nodes that `--why` asks about.
    pub(crate) why: Option<Why<'a>>,
    /// The sizes that change before the passes: `DIM=SIZE`.
    pub(crate) sizes: &'a [String],
    /// The groups of nodes that edits keep whole.
    pub(crate) idioms: Option<&'a IdiomSet>,
}

/// What is counted before a pipeline runs.
pub(crate) struct Before {
    pub(crate) nodes: usize,
    /// Number of nodes of each operator.
    pub(crate) operators: BTreeMap<String, usize>,
}

impl Before {
    /// Counts the nodes of a model.
    pub(crate) fn of(model: &Model) -> Self {
        let mut operators = BTreeMap::new();
        for graph in model.all_graphs() {
            for node in model.nodes(graph) {
                *operators.entry(model.str(model.node(node).op()).to_owned()).or_default() += 1;
            }
        }
        Self { nodes: model.node_count(), operators }
    }
}

/// Runs a pipeline on a model, and writes the result.
#[expect(clippy::too_many_lines, reason = "the steps of a command in their order")]
pub(crate) fn edit(
    input_file: &Path,
    args: &EditArgs,
    pipeline: &Pipeline,
    kind: &Kind<'_>,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    let registry = args.documents.registry(&args.input.bounds.execution())?;
    let in_place = args.in_place.in_place;
    let changed = Changed { path: input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    check_journal(args, input_file)?;
    let progress = Progress::start(kind.verb, 1);
    progress.begin(&display_name(input_file));
    let mut loaded = load_to_copy(input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let severity = &args.input.severity;
    progress.aside(|| require_valid_nodes(&loaded, &registry, severity, args.keep_going, out))?;
    progress.aside(|| weights::warn_of_missing(&loaded, out))?;
    let resized = match resize::resize(&mut loaded, kind.sizes, &registry)? {
        Ok(resized) => resized,
        Err(found) => return resize::refuse(&loaded, found, args, kind.report, out),
    };
    progress.aside(|| resize::describe(&resized, out));
    let source = loaded.source()?;
    let conditions = conditions(args);
    let begin = Instant::now();
    let clock = || begin.elapsed();
    let only = selected(&loaded.model, &args.only)?;
    let except = excepted(&loaded.model, &args.except)?;
    let asked = why::asked(&loaded.model, kind.why.as_ref())?;
    let options = PassOptions::default()
        .with_class(if args.exact { Exactness::Exact } else { Exactness::Rounding })
        .with_conditions(&conditions)
        .with_assumed(args.assume.contains(&Assume::Guards))
        .with_level(if args.prove { Level::Model } else { Level::Types })
        .with_untested(args.accept_untested)
        .with_registry(&registry)
        .with_data(&source)
        .with_only(only.as_ref())
        .with_except(except.as_ref())
        .with_idioms(kind.idioms.map(|idioms| idioms as &dyn Idioms))
        .with_quantized_folding(args.fold_quantized)
        .with_clock(Some(&clock))
        .with_execution(runs_of(&[&loaded]));
    if args.bisect {
        return bisect::run(input_file, &args.command, &loaded, pipeline, &options, progress, out);
    }
    let before = Before::of(&loaded.model);
    let data = DataBytes::of(&loaded.model, loaded.place.directory(), &[]);
    let size = SizeBefore { file: loaded.bytes, data: data.files };
    let done = pipeline.run(&mut loaded.model, &options);
    if done.ended == Some(onnx_pass::Ended::Stopped) {
        loaded.execution.interrupt.check()?;
    }
    progress.aside(|| warn_of_type_errors(done.has_type_errors, input_file, out));
    progress.aside(|| (kind.describe)(&done, &before, &loaded.model, out));
    let write_options = store::options(args.output.write, loaded.files()?).with_dry_run(args.output.dry_run);
    refused::write_reproducers(args.reproducers.as_deref(), &done, &write_options, out)?;
    if let Some(Verdict::Refuted(counterexample)) = &done.model {
        // A message has one line.
        let found = counterexample.to_string().replace('\n', "; ");
        let message = format!("the passes change what the model computes: {found}");
        let help = "this is a defect of a pass or of a rule: unless the rule is yours, please report it, with the model if you can";
        return Err(Failure::new(message).help(help));
    }
    let answers = why::answers(asked, kind.why.as_ref(), &mut loaded.model, &options, &done);
    let mut findings = loaded.findings.clone();
    if out.is_for_people() {
        why::show(&answers, out)?;
        out.input(&loaded, findings)?;
    } else {
        out.result_kind(kind.report, "models");
        report::select(&loaded.model, &mut findings);
        let mut item = item(&loaded, &done, before.nodes, &answers);
        item["sizes"] = resize::to_json(&resized);
        let item = JsonText::of(&item)?;
        out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])?;
    }
    let journal =
        args.journal.as_deref().map(|path| Ok::<_, Failure>((path, journal_text(&done, &loaded.model)?)));
    let journal = journal.transpose()?;
    if let Some((path, _)) = &journal {
        // The model is not written if the journal cannot be.
        write_file(path, FileKind::Json, &write_options.clone().with_dry_run(true), |_| Ok(()))?;
    }
    if args.journal_metadata {
        journal::annotate(&mut loaded.model)?;
    }
    let mut to = placement.destination(loaded.execution.clone(), args.output.write, loaded.files()?);
    to.before = Some(size);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    if let Some((path, text)) = journal {
        write_file(path, FileKind::Json, &write_options, |file| file.write_all(text.as_bytes()))?;
        out.output(path, Some("json"), text.len() as u64, !args.output.dry_run);
    }
    Ok(Outcome::Fine)
}

/// Refuses to write the journal where something else is read or written.
fn check_journal(args: &EditArgs, input: &Path) -> Result<(), Failure> {
    let Some(journal) = args.journal.as_deref() else { return Ok(()) };
    let others =
        [Some(input), args.output.output_file.as_deref(), args.output.report.file.as_deref()].into_iter();
    report::require_own_file("--journal", journal, others.flatten())
}

/// The passes that were asked for.
fn unknown(error: &UnknownPass) -> Failure {
    let help = "`onnx explain --list passes` lists all";
    let help = match other_tools::pass(&error.name).or(error.nearest()) {
        Some(name) => format!("did you mean `{name}`? {help}"),
        None => help.to_owned(),
    };
    Failure::new(format_args!("the pass `{}` does not exist", shown(&error.name))).help(help)
}

fn opposed(error: &OpposedPasses) -> Failure {
    Failure::new(error).help(
        "leave out one of them, or `--repeat`: then each runs once, and the later one has the last word",
    )
}

fn conditions(args: &EditArgs) -> Vec<Condition> {
    let condition = |assume: &Assume| match assume {
        Assume::NoNan => Some(Condition::NoNan),
        Assume::Finite => Some(Condition::Finite),
        Assume::NoNegativeZero => Some(Condition::NoNegativeZero),
        Assume::Guards => None,
    };
    args.assume.iter().filter_map(condition).collect()
}

/// The nodes that edits may be derived from; `None` for all.
fn selected(model: &Model, texts: &[String]) -> Result<Option<HashSet<NodeId>>, Failure> {
    let nodes = selection::nodes(model, texts)?;
    Ok((!texts.is_empty()).then(|| nodes.into_iter().collect()))
}

/// The nodes that stay, with those of their graphs; `None` for none.
fn excepted(model: &Model, texts: &[String]) -> Result<Option<HashSet<NodeId>>, Failure> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut nodes = selection::nodes(model, texts)?;
    let graphs: Vec<_> = nodes.iter().flat_map(|&node| model.node(node).nested_graphs()).collect();
    nodes.extend(graphs.into_iter().flat_map(|graph| model.nodes_in(graph)));
    Ok(Some(nodes.into_iter().collect()))
}

/// Tells what the passes did that the user chose, and which edits were refused.
fn describe(done: &PipelineReport, before: &Before, model: &Model, out: &Out) {
    describe_passes(refused::Chosen::ByUser, done, before, model, out);
}

/// Like [`describe`], for the passes of a command.
pub(crate) fn describe_own(done: &PipelineReport, before: &Before, model: &Model, out: &Out) {
    describe_passes(refused::Chosen::ByCommand, done, before, model, out);
}

fn describe_passes(
    chosen: refused::Chosen,
    done: &PipelineReport,
    before: &Before,
    model: &Model,
    out: &Out,
) {
    for pass in &done.passes {
        refused::describe(&pass.report.refusals, chosen, out);
        let unreadable =
            pass.report.missed.iter().filter(|missed| missed.reason.ends_with(UNREADABLE)).count();
        if unreadable > 0 {
            let nodes = size::plural(unreadable as u64, "node");
            let help = "put the external data of the model where it is expected; `-vv` names the values";
            out.warning(&format!("{} leaves {nodes}, because weights cannot be read", pass.name), Some(help));
        }
        for missed in &pass.report.missed {
            out.detail(2, &format!("{} leaves {missed}", pass.name));
        }
        let time = pass.time.as_secs_f64() * 1e3;
        let edits = size::plural(pass.report.edits as u64, "edit");
        out.detail(1, &format!("{}: {edits}, {:+} nodes, {time:.1} ms", pass.name, pass.nodes));
    }
    if let Some(ended) = done.ended {
        out.warning(&ended.to_string(), None);
    }
    if let Some(verdict) = &done.model {
        refused::untested(&done.journal, out);
        match verdict {
            Verdict::Untested(reason) => refused::not_compared(reason, out),
            verdict => out.detail(1, &format!("the whole model: {verdict}")),
        }
    }
    refused::defaults(model, out);
    for Cause { count, reason, node } in causes(done) {
        let (nodes, node) = (size::plural(count as u64, "node"), shown(&node));
        out.details_of_summary(&format!("{nodes} stay, each because {reason}, such as `{node}`\n"));
    }
    let edits = size::plural(done.edits() as u64, "edit");
    let (was, is) = (size::grouped(before.nodes as u64), size::grouped(model.node_count() as u64));
    out.summary(&format!("{edits}{}: {was} -> {is} nodes", verdicts(&done.journal)));
}

/// A reason for which nodes stay.
struct Cause {
    count: usize,
    reason: String,
    /// The first of the nodes.
    node: String,
}

/// The most frequent reasons for which nodes with known or constant results stay, with the number of nodes.
fn causes(done: &PipelineReport) -> Vec<Cause> {
    /// Fewer nodes are not listed.
    const LEAST: usize = 8;
    const MOST: usize = 3;
    const PASSES: [&str; 3] = ["known-elements", "folded-constants", "no-known-branches"];
    let passes = done.passes.iter().filter(|pass| PASSES.contains(&&*pass.name));
    let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
    for missed in passes.flat_map(|pass| &pass.report.missed) {
        // The names of values are in backticks.
        let parts = missed.reason.split('`').enumerate();
        let reason: Vec<&str> = parts.map(|(index, part)| if index % 2 == 0 { part } else { "…" }).collect();
        // A sentence has its subject without the name of a result.
        let reason = reason.join("`").replace("result `…`", "result");
        let first = || Cause { count: 0, reason: reason.clone(), node: missed.node.clone() };
        causes.entry(reason.clone()).or_insert_with(first).count += 1;
    }
    let mut causes: Vec<Cause> = causes.into_values().filter(|cause| cause.count >= LEAST).collect();
    causes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    causes.truncate(MOST);
    causes
}

/// How the reason ends for a node that needs weights which are not there.
const UNREADABLE: &str = "cannot be read";

/// How many edits were proved, tested and not tested, in parentheses.
fn verdicts(journal: &[Entry]) -> String {
    let count = |is: fn(&Verdict) -> bool| -> usize {
        journal.iter().filter(|entry| is(&entry.verdict)).map(|entry| entry.edits).sum()
    };
    let counts = [
        (count(|verdict| matches!(verdict, Verdict::Proved(_))), "proved"),
        (count(|verdict| matches!(verdict, Verdict::Tested { .. })), "tested"),
        (count(|verdict| matches!(verdict, Verdict::Measured { .. })), "measured"),
        (count(|verdict| matches!(verdict, Verdict::Untested(_))), "not compared by value"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
}

/// The item of a model in `rewrite/1`.
fn item(loaded: &Loaded, done: &PipelineReport, before: usize, answers: &[why::Answer]) -> Value {
    let pass = |run: &PassRun| {
        let refusals = run
            .report
            .refusals
            .iter()
            .map(|refusal| json!({ "level": refusal.level.to_string(), "reason": refusal.reason, "sources": sources(&refusal.sources) }));
        json!({
            "name": run.name,
            "edits": run.report.edits,
            "nodes": run.nodes,
            "rounds": run.rounds,
            "refusals": refusals.collect::<Vec<_>>(),
            "missed": run.report.missed.len(),
        })
    };
    json!({
        "file": loaded.name,
        "name": loaded.name,
        "nodes": { "before": before, "after": loaded.model.node_count() },
        "edits": done.edits(),
        "passes": done.passes.iter().map(pass).collect::<Vec<_>>(),
        "has_type_errors": done.has_type_errors,
        "ended": done.ended.map(|ended| ended.to_string()),
        "why": why::to_json(answers),
        "model": done.model.as_ref().map(ToString::to_string),
    })
}

/// The journal as JSON.
fn journal_text(done: &PipelineReport, model: &Model) -> Result<String, Failure> {
    let entries: Vec<Value> = done.journal.iter().map(entry).collect();
    let nodes = journal::nodes(model);
    json::lines(&json!({ "schema": "onnx-journal/1", "edits": entries, "nodes": nodes }))
}

/// Nodes by operator and name.
fn sources(nodes: &[(String, String)]) -> Vec<Value> {
    nodes.iter().map(|(op, name)| json!({ "op": op, "name": name })).collect()
}

fn entry(entry: &Entry) -> Value {
    json!({
        "pass": entry.pass,
        "sources": sources(&entry.sources),
        "class": entry.class.name(),
        "verdict": entry.verdict.to_string(),
        "assumed": entry.assumed,
        "edits": entry.edits,
    })
}
