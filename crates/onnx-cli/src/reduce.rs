//! `onnx reduce`: the smallest model for which a command still fails.

use onnx_compose::{ReduceError, ReduceOptions, Reduction, reduce};
use onnx_ir::Model;
use serde::Serialize;

use crate::args::{Changed, ExternalArgs, ReduceArgs};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::json::JsonText;
use crate::output::Out;
use crate::progress::Progress;
use crate::trial::Trials;
use crate::{report, size, store, weights};

pub(crate) fn run(args: &ReduceArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place: false };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("reducing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let inputs = loaded.files()?;
    let before = Size::of(&loaded.model);
    let registry = args.documents.registry(&loaded.execution)?;
    let options = ReduceOptions::default()
        .with_registry(&registry)
        .with_only_valid(!args.allow_invalid)
        .with_execution(loaded.execution.clone());
    let trials = Trials::new(&args.input_file, &loaded, &args.command)?
        .matching(args.wanted.clone())
        .within(args.run_timeout);
    let (mut count, mut good) = (0_u64, 0_u64);
    let mut smallest = before;
    let result = reduce(&loaded.model, &options, |model| {
        count = count.saturating_add(1);
        let trial = trials.run(model)?;
        if trial == onnx_pass::Trial::Bad {
            smallest = Size::of(model);
        }
        good = good.saturating_add(u64::from(trial != onnx_pass::Trial::Bad));
        let nodes = size::plural(smallest.nodes, "node");
        progress.begin(&format!("trial {count}, {nodes}"));
        Ok::<_, Failure>(trial)
    });
    let done = result.map_err(|error| failed(error, trials.missed()))?;
    drop(trials);
    if good == 0 && count > 1 {
        let message = format!("the command failed for all {count} models that were tried, however small");
        let help = "run it on the output: it may fail for a reason that is not in the model; `--match` states the reason";
        progress.aside(|| out.warning(&message, Some(help)));
    }
    let Reduction { model, attempts, accepted, is_limited, .. } = done;
    loaded.model = model;
    let after = Size::of(&loaded.model);
    let item = Item { name: &loaded.name, before, after, attempts, accepted, is_limited };
    progress.aside(|| tell(&loaded, &item, out))?;
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// `missed` is how the command failed without the output that `--match` wants.
fn failed(error: ReduceError<Failure>, missed: Option<String>) -> Failure {
    match (error, missed) {
        (ReduceError::NotBad, Some(missed)) => {
            Failure::new("the command fails on the model as it is, but its output does not match `--match`")
                .help(missed)
        }
        (error, _) => other(error),
    }
}

fn other(error: ReduceError<Failure>) -> Failure {
    match error {
        ReduceError::Trial(failure) => failure,
        ReduceError::Stopped(stopped) => stopped.into(),
        ReduceError::NotBad => Failure::new("the command does not fail on the model as it is")
            .help("the command is to fail as the model is: status 0 means that the model is good, each other one but 125, 126 and 127 that it fails; with `--match`, the output must contain the expression, too"),
        ReduceError::Undecided => {
            Failure::new("the command cannot try the model as it is: its status is 125")
        }
        _ => Failure::new("the model cannot be reduced"),
    }
}

/// Tells what was done.
fn tell(loaded: &Loaded, item: &Item<'_>, out: &mut Out) -> Result<(), Failure> {
    if item.is_limited {
        let message =
            format!("the search ended after {} trials: the model may not be the smallest", item.attempts);
        out.warning(&message, Some("`--limit reduce_attempts=N` allows more"));
    }
    let trials = size::plural(item.attempts, "trial");
    let [before, after] = [item.before, item.after].map(|size| size::grouped(size.nodes));
    let weights = format!(
        "{} -> {} values of weights",
        size::grouped(item.before.elements),
        size::grouped(item.after.elements)
    );
    out.summary(&format!("{before} -> {after} nodes, {weights} ({trials})"));
    if out.is_for_people() {
        return out.input(loaded, loaded.findings.clone());
    }
    out.result_kind("reduce/1", "models");
    let mut findings = loaded.findings.clone();
    report::select(&loaded.model, &mut findings);
    let item = JsonText::of(item)?;
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}

/// How large a model is.
#[derive(Clone, Copy, Serialize)]
struct Size {
    nodes: u64,
    inputs: u64,
    outputs: u64,
    /// Elements of all initializers.
    elements: u64,
}

impl Size {
    fn of(model: &Model) -> Self {
        let graph = model.graph(model.main_graph());
        let elements = |value| {
            let tensor = model.value(value).initializer().and_then(|constant| constant.dense());
            tensor.and_then(onnx_types::tensor::Tensor::element_count).unwrap_or(0)
        };
        let graphs = model.all_graphs();
        Self {
            nodes: model.node_count() as u64,
            inputs: graph.inputs().len() as u64,
            outputs: graph.outputs().len() as u64,
            elements: graphs
                .flat_map(|graph| model.initializers(graph))
                .map(elements)
                .fold(0, u64::saturating_add),
        }
    }
}

/// A model, as an item of `reduce/1`.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    before: Size,
    after: Size,
    attempts: u64,
    accepted: u64,
    is_limited: bool,
}
