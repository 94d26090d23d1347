//! Several models become one.

use onnx_codec::{DataFile, InputFiles};
use onnx_compose::{
    Connection, ExtractOptions, MergeError, MergeOptions, Merged, RenamedKind, connections_by_name, extract,
    merge,
};
use onnx_diag::Sink;
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_schema::Registry;

use super::connect::ReplacedOutput;
use super::link::{self, Linked};
use super::{connect, data};
use crate::args::{Changed, ExternalArgs, MergeArgs};
use crate::change::{self, Judged};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::extract::invalid;
use crate::input::{Loaded, display_name, load, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::weights::Placement;
use crate::{selection, size, store, weights};

pub(super) fn run(args: &MergeArgs, out: &mut Out) -> Result<Outcome, Failure> {
    refuse(args)?;
    let Some(first) = args.input_files.first() else { return Ok(Outcome::Fine) };
    let changed = Changed { path: first, from: args.input.from, in_place: false };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("merging", args.input_files.len());
    let (mut loaded, inputs) = load_all(args, &progress, out)?;
    let (place, files) = data::gather(&mut loaded, &placement, out)?;
    let registry = onnx_shape_infer::contrib::registry();
    let joined = join(args, &loaded, &registry, out)?;
    let (merged, connections) = match joined {
        Ok(joined) => joined,
        Err((error, connections)) => {
            let models: Vec<&Model> = loaded.iter().map(|loaded| &loaded.model).collect();
            let (mut of, mut found) = error.findings(&models);
            if let MergeError::Connection { index, .. } = error
                && let Some(connection) = connections.get(index)
            {
                of = connection.to.0;
                found = with_files(found, &loaded, connection);
            }
            progress.aside(|| refused(&loaded, of, found, args, out))?;
            return Ok(Outcome::Findings);
        }
    };
    let names: Vec<String> = loaded.iter().map(|loaded| loaded.name.clone()).collect();
    let models: Vec<&Model> = loaded.iter().map(|loaded| &loaded.model).collect();
    let replaced = connect::replaced_outputs(&models, &connections, &args.prefix, &merged.model);
    let mut rest = loaded.split_off(1);
    let Some(mut whole) = loaded.pop() else { return Ok(Outcome::Fine) };
    whole.place = place;
    let facts = Facts { names, connections, merged, replaced };
    finish(args, (&mut whole, &mut rest), facts, (&placement, inputs, files), &registry, progress, out)
}

fn refuse(args: &MergeArgs) -> Result<(), Failure> {
    if args.in_place.in_place {
        return Err(Failure::new("`--in-place` replaces one model, not several").help("use `-o OUT`"));
    }
    if args.prefix.len() > args.input_files.len() {
        return Err(Failure::new(format_args!(
            "{} are given for {}",
            size::plural(args.prefix.len() as u64, "prefix"),
            size::plural(args.input_files.len() as u64, "model")
        ))
        .help("give one for each model at most, in their order: `--prefix a_ --prefix b_`"));
    }
    Ok(())
}

fn load_all(
    args: &MergeArgs,
    progress: &Progress,
    out: &mut Out,
) -> Result<(Vec<Loaded>, InputFiles), Failure> {
    let (mut all, mut inputs) = (Vec::new(), InputFiles::default());
    for path in &args.input_files {
        progress.begin(&display_name(path));
        let mut loaded = load_to_copy(path, &args.input)?;
        progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
        inputs.append(loaded.files()?);
        all.push(loaded);
    }
    Ok((all, inputs))
}

/// What was joined, for messages and the report.
struct Facts {
    names: Vec<String>,
    connections: Vec<Connection>,
    merged: Merged,
    replaced: Vec<ReplacedOutput>,
}

impl Facts {
    /// The outputs of the model that have the name of a connected value.
    fn replaced<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = &'a ReplacedOutput> {
        let graph = model.graph(model.main_graph());
        let is_output = |name: &str| {
            graph.outputs().iter().any(|output| model.str(model.value(output.value()).name()) == name)
        };
        self.replaced.iter().filter(move |replaced| is_output(&replaced.to))
    }
}

/// What was joined, or why not, with the connections.
type Joined = Result<(Merged, Vec<Connection>), (MergeError, Vec<Connection>)>;

/// Findings about a connection, with the files of its models.
fn with_files(found: Sink, loaded: &[Loaded], connection: &Connection) -> Sink {
    let file = |model: usize| {
        let name = loaded.get(model).map(|loaded| shown(&loaded.name)).unwrap_or_default();
        format!("model {} is {name}", model.saturating_add(1))
    };
    let (from, to) = (connection.from.0, connection.to.0);
    let files = if from == to { file(from) } else { format!("{}, {}", file(from), file(to)) };
    let mut named = Sink::new();
    for finding in found.into_diagnostics() {
        named.report(if finding.help.is_none() { finding.help(&files) } else { finding });
    }
    named
}

/// Merges as the arguments say; the outer error is about the arguments and limits.
fn join(args: &MergeArgs, loaded: &[Loaded], registry: &Registry, out: &Out) -> Result<Joined, Failure> {
    let models: Vec<&Model> = loaded.iter().map(|loaded| &loaded.model).collect();
    let mut connections = connect::parse(&models, &args.connect)?;
    if args.by_name {
        let is_new = |found: &Connection| connections.iter().all(|known| known.to != found.to);
        let found: Vec<Connection> = connections_by_name(&models).into_iter().filter(is_new).collect();
        connections.extend(found);
        let names: Vec<String> = loaded.iter().map(|loaded| shown(&loaded.name)).collect();
        for reversed in connect::reversed(&models, &connections) {
            let (message, help) = reversed.warning(&names);
            out.warning(&message, Some(&help));
        }
    }
    if connections.is_empty() {
        let by_name = connections_by_name(&models);
        let count = size::plural(by_name.len() as u64, "input");
        let help = format!("`--by-name` connects {count} to values of the same name");
        out.warning(
            "nothing connects the models: they are side by side",
            (!by_name.is_empty()).then_some(help.as_str()),
        );
    }
    let execution = loaded.first().map(|loaded| loaded.execution.clone()).unwrap_or_default();
    let options = MergeOptions::default()
        .with_registry(registry)
        .with_execution(execution)
        .with_prefixes(args.prefix.iter().cloned())
        .with_same_dimensions(args.same_dims.iter().cloned())
        .with_drop_training(args.drop_training);
    match merge(&models, &connections, &options) {
        Err(MergeError::Stopped(stopped)) => Err(stopped.into()),
        Err(error) if error.limit().is_some() => Err(error.into()),
        Ok(merged) => Ok(Ok((merged, connections))),
        Err(error) => Ok(Err((error, connections))),
    }
}

impl LibraryError for MergeError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }
}

/// Reports why models were not merged.
#[expect(clippy::needless_pass_by_value, reason = "the findings are not needed afterwards")]
fn refused(
    loaded: &[Loaded],
    of: usize,
    found: Sink,
    args: &MergeArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    for (index, input) in loaded.iter().enumerate() {
        let found = if index == of { found.clone() } else { Sink::new() };
        let judged = Judged::new(found, input, &args.input.severity)?;
        change::report(input, &judged, ("merge/1", &link::Item::empty(&input.name)), out)?;
    }
    Ok(())
}

/// Links libraries, extracts what is wanted, reports and writes.
fn finish(
    args: &MergeArgs,
    (whole, rest): (&mut Loaded, &mut [Loaded]),
    mut facts: Facts,
    (placement, inputs, mut files): (&Placement<'_>, InputFiles, Vec<DataFile>),
    registry: &Registry,
    progress: Progress,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    whole.model = std::mem::take(&mut facts.merged.model);
    let mut libraries = Vec::new();
    for path in &args.link {
        let mut library = load(path, &args.input)?;
        progress.aside(|| library.report(&args.input.severity, args.keep_going, out))?;
        libraries.push(library);
    }
    let linked = link::link_all(&mut whole.model, &libraries)?;
    let mut found =
        if libraries.is_empty() { Sink::new() } else { link::findings(&whole.model, &libraries, &linked) };
    let mut is_extracted = true;
    match narrow(args, whole, registry)? {
        Ok(()) => found.merge(invalid(&whole.model)),
        Err(refused) => {
            found.merge(refused);
            is_extracted = false;
        }
    }
    whole.execution.interrupt.check()?;
    let judged = Judged::new(found, whole, &args.input.severity)?;
    progress.aside(|| {
        describe(&facts, whole, out);
        if !libraries.is_empty() {
            link::describe(&whole.model, &libraries, &linked, out);
        }
        report(whole, rest, &libraries, (&facts, &linked), &judged, out)
    })?;
    if !is_extracted || (judged.is_refused() && !args.keep_going) {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(whole.execution.clone(), args.output.write, inputs);
    files.extend(weights::place(whole, placement, out)?);
    store::write(&whole.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Extracts the part between the inputs and outputs that are wanted.
fn narrow(args: &MergeArgs, whole: &mut Loaded, registry: &Registry) -> Result<Result<(), Sink>, Failure> {
    if args.inputs.is_empty() && args.outputs.is_empty() {
        return Ok(Ok(()));
    }
    let graph = whole.model.graph(whole.model.main_graph());
    let inputs = match args.inputs.as_slice() {
        [] => graph.inputs().to_vec(),
        texts => selection::values(&whole.model, texts)?,
    };
    let outputs: Vec<ValueId> = match args.outputs.as_slice() {
        [] => graph.outputs().iter().map(GraphOutput::value).collect(),
        texts => selection::values(&whole.model, texts)?,
    };
    let options = ExtractOptions::default().with_registry(registry).with_execution(whole.execution.clone());
    let done = extract(&mut whole.model, Some(&inputs), &outputs, &options);
    Ok(done.map(drop).map_err(|error| error.findings(&whole.model)))
}

fn report(
    whole: &Loaded,
    rest: &[Loaded],
    libraries: &[Loaded],
    (facts, linked): (&Facts, &Linked),
    judged: &Judged,
    out: &mut Out,
) -> Result<(), Failure> {
    let item = link::Item::new(whole, linked).with(joined_item(facts, &whole.model));
    change::report(whole, judged, ("merge/1", &item), out)?;
    rest.iter().chain(libraries).try_for_each(|input| {
        let (format, bytes) = (Some(input.format.id()), Some(input.bytes));
        out.input_of(&input.name, format, bytes, input.findings.clone(), Vec::new())
    })
}

/// Tells what was merged.
fn describe(facts: &Facts, whole: &Loaded, out: &Out) {
    let merged = &facts.merged;
    let name = |model: usize| facts.names.get(model).map_or("", String::as_str);
    for raised in &merged.raised {
        let domain = if raised.domain.is_empty() { "ai.onnx" } else { raised.domain.as_str() };
        let (model, from, to) = (name(raised.model), raised.from, raised.to);
        out.detail(0, &format!("{model}: operator set {} raised from {from} to {to}", shown(domain)));
    }
    for renamed in &merged.renamed {
        let text = format!("{}: {} is now {}", name(renamed.model), shown(&renamed.from), shown(&renamed.to));
        match renamed.kind {
            RenamedKind::Interface => {
                out.warning(&text, Some("`--prefix` gives the names of a model a prefix"));
            }
            _ => out.detail(1, &format!("renamed in {text}")),
        }
    }
    for replaced in facts.replaced(&whole.model) {
        let (from, to) = (shown(&replaced.from), shown(&replaced.to));
        let help = format!(
            "the output is the value that is connected to the input {from}; `onnx edit --rename` renames it"
        );
        out.warning(&format!("{}: {from} is now {to}", name(replaced.model)), Some(&help));
    }
    for (model, variable, bound) in &merged.bound {
        out.detail(0, &format!("{}: the size {} is {bound}", name(*model), shown(variable)));
    }
    if merged.removed_training {
        out.warning("the training information was removed, because it refers to one model", None);
    }
    let models = size::plural(facts.names.len() as u64, "model");
    let connections = size::plural(facts.connections.len() as u64, "connection");
    let nodes = size::plural(whole.model.node_count() as u64, "node");
    out.summary(&format!("merged {models} with {connections}: {nodes}"));
}

fn joined_item(facts: &Facts, model: &Model) -> link::Joined {
    let merged = &facts.merged;
    let graph = model.graph(model.main_graph());
    let text = |value: ValueId| model.str(model.value(value).name()).to_owned();
    link::Joined {
        models: facts.names.clone(),
        connections: facts.connections.len() as u64,
        nodes: model.node_count() as u64,
        inputs: graph.inputs().iter().map(|&input| text(input)).collect(),
        outputs: graph.outputs().iter().map(|output| text(output.value())).collect(),
        renamed: merged
            .renamed
            .iter()
            .map(link::RenamedItem::new)
            .chain(facts.replaced(model).map(link::RenamedItem::of_output))
            .collect(),
        raised: merged.raised.iter().map(link::RaisedItem::new).collect(),
        shared_initializers: merged.shared_initializers as u64,
        shared_functions: merged.shared_functions as u64,
    }
}
