//! `onnx run`: runs a model on given or generated inputs.

mod args;
mod files;
mod given;
mod prepare;
mod show;
mod sizes;
mod stats;

use onnx_codec::FileSource;
use onnx_eval::{EvalOptions, Evaluator, FailureKind, Value};
use onnx_ir::{Element, Model, Selectors, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::InferOptions;
use onnx_types::Execution;
use serde_json::json;

use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, display_name, load};
use crate::output::{Colours, Out, shown, terminal_safe};
use crate::progress::Progress;
use crate::size::plural;
use crate::store;

pub(crate) use args::{FeedArgs, RunArgs};
pub(crate) use given::{Given, name, read as read_given};
pub(crate) use prepare::{Inputs, inputs_for, refuse_partial};
pub(crate) use show::number;
pub(crate) use sizes::{Set, parse as parse_set};
pub(crate) use stats::node_name;

use stats::{Stats, Watcher};

pub(crate) fn run(args: &RunArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let set: Vec<Set> =
        args.sizes.iter().map(|text| sizes::parse(text)).collect::<Result<Vec<_>, _>>()?.concat();
    let progress = Progress::start("running", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, false, out))?;
    let registry = args.documents.registry()?;
    let seed = args.feeds.seed.unwrap_or_default();
    let given = given::read(&args.feeds, &loaded)?;
    refuse_partial(&loaded.model, &given, args.feeds.seed)?;
    let wanted = selected(&loaded.model, &args.at)?;
    let source = loaded.source()?;
    let inputs = {
        let options = InferOptions::default().with_data(&source).with_registry(&registry);
        let inference = loaded.infer(options)?;
        inputs_for(&loaded.model, &inference, &given, &set, seed, &loaded.execution.limits)?
    };
    progress.aside(|| findings(&loaded, &inputs, out));
    if inputs.is_refused {
        out.input(&loaded, inputs.findings)?;
        return Ok(Outcome::Findings);
    }
    progress.aside(|| announce(&inputs, seed, out));
    let ran = execute(&loaded, (&registry, &source), &inputs, &wanted, seed);
    let (outputs, inner, stats) = match ran {
        Ok(ran) => ran,
        Err(failure) => return failed(&loaded, failure, out),
    };
    if let Some(path) = &args.output {
        let options = store::options(args.write, loaded.files()?);
        let written = files::write(path, args.to, &outputs, &options)?;
        let files = plural(written.len() as u64, "file");
        written.iter().for_each(|(path, format, bytes)| out.output(path, Some(format), *bytes, true));
        progress.aside(|| out.summary(&format!("wrote {files} to {}", path.to_string_lossy())));
    }
    let stats = args.stats.then_some(stats);
    progress.aside(|| describe(&loaded, inputs, seed, &outputs, &inner, stats.as_ref(), out))?;
    Ok(Outcome::Fine)
}

/// The values that `--at` selects.
fn selected(model: &Model, at: &[String]) -> Result<Vec<ValueId>, Failure> {
    let selectors = Selectors::new(model);
    let mut values = Vec::new();
    for text in at {
        let selector = selectors
            .parse(text)
            .map_err(|error| Failure::new(format_args!("`{}` is not a selector: {error}", shown(text))))?;
        let found = selectors.values(&selector);
        if found.is_empty() {
            return Err(Failure::new(format_args!("the model has no value `{}`", shown(text)))
                .help("`onnx print MODEL` shows the names"));
        }
        values.extend(found);
    }
    Ok(values)
}

/// The outputs by name, the selected inner values, and what the nodes took.
type Ran = (Vec<(String, Value)>, Vec<(ValueId, Option<Value>)>, Stats);

fn execute(
    loaded: &Loaded,
    (registry, source): (&Registry, &FileSource),
    inputs: &Inputs,
    wanted: &[ValueId],
    seed: u64,
) -> Result<Ran, onnx_eval::Failure> {
    let model = &loaded.model;
    let watcher = Watcher::new(model, wanted);
    let options = eval_options(&loaded.execution, seed, registry).with_data(source).with_observer(&watcher);
    let evaluator = Evaluator::new(model, &options)?;
    let values: Vec<(&str, Value)> =
        inputs.values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let outputs = evaluator.run(&values)?;
    let graph = model.graph(model.main_graph());
    let names = graph.outputs().iter().map(|output| name(model, output.value()).to_owned());
    let outputs = names.zip(outputs).collect();
    let inner = wanted.iter().map(|&value| {
        let given = || inputs.values.iter().find(|(known, _)| known == name(model, value));
        let of_input = given::inputs(model).contains(&value).then(given).flatten();
        let constant = || {
            let constant = model.value(value).initializer()?.dense()?;
            Some(Value::from(constant.clone()))
        };
        (value, watcher.value(value).or_else(|| Some(of_input?.1.clone())).or_else(constant))
    });
    Ok((outputs, inner.collect(), watcher.stats()))
}

/// How the commands run models.
pub(crate) fn eval_options<'a>(execution: &Execution, seed: u64, registry: &'a Registry) -> EvalOptions<'a> {
    EvalOptions::default().with_execution(execution.clone().with_seed(seed)).with_registry(registry)
}

/// Lists what contradicts the model on standard error.
pub(crate) fn findings(loaded: &Loaded, inputs: &Inputs, out: &Out) {
    if !inputs.findings.is_empty() {
        let options = onnx_diag::render::text::Options::new(&loaded.name).with_style(&Colours);
        out.findings(&inputs.findings, &options);
    }
}

/// Tells on standard error which inputs are generated.
fn announce(inputs: &Inputs, seed: u64, out: &Out) {
    if inputs.generated.is_empty() {
        return;
    }
    let of = |name: &String| {
        let value = inputs.values.iter().find(|(known, _)| known == name);
        format!("`{}` {}", shown(name), value.map_or_else(String::new, |(_, value)| value.describe()))
    };
    let list: Vec<String> = inputs.generated.iter().map(of).collect();
    let count = plural(list.len() as u64, "input");
    out.summary(&format!("generated {count} with seed {seed}: {}", list.join(", ")));
}

/// A run that failed: a property of the model or its inputs is a diagnostic, all else a failure of the command.
pub(crate) fn failed(
    loaded: &Loaded,
    failure: onnx_eval::Failure,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    if is_failure_of_command(failure.kind()) {
        return Err(as_failure(failure).about(&loaded.name));
    }
    let mut sink = onnx_diag::Sink::new();
    sink.report(failure.diagnostic().clone());
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
}

/// Writes the values.
fn describe(
    loaded: &Loaded,
    inputs: Inputs,
    seed: u64,
    outputs: &[(String, Value)],
    inner: &[(ValueId, Option<Value>)],
    stats: Option<&Stats>,
    out: &mut Out,
) -> Result<(), Failure> {
    let model = &loaded.model;
    if out.is_for_people() {
        let mut text = String::new();
        for (value, found) in inner {
            match found {
                Some(found) => text.push_str(&show::text(name(model, *value), found)?),
                None => {
                    let name = shown(name(model, *value));
                    out.warning(&format!("`{name}` has no value: its node did not run"), None);
                }
            }
        }
        for (name, value) in outputs {
            text.push_str(&show::text(name, value)?);
        }
        if let Some(stats) = stats {
            text.push_str(&show::stats(stats)?);
        }
        out.text(&text)?;
        return out.input(loaded, inputs.findings);
    }
    out.result_kind("run/1", "models");
    let mut listed = Vec::new();
    let graph = model.graph(model.main_graph());
    let selectors = Selectors::new(model);
    let mut add = |id: ValueId, value: Option<&Value>| {
        let mut object = match value {
            Some(value) => show::object(name(model, id), value)?,
            None => json!({ "name": name(model, id), "type": null, "tensor": null, "items": [] }),
        };
        if let Some(fields) = object.as_object_mut() {
            fields.insert("selector".to_owned(), json!(selectors.text(Element::Value(id))));
        }
        listed.push(object);
        Ok::<_, Failure>(())
    };
    for (output, (_, value)) in graph.outputs().iter().zip(outputs) {
        add(output.value(), Some(value))?;
    }
    for (id, value) in inner {
        add(*id, value.as_ref())?;
    }
    let inner = listed.split_off(outputs.len());
    let sizes: Vec<_> = inputs.sizes.iter().map(|(dim, size)| json!({ "dim": dim, "size": size })).collect();
    let item = json!({
        "name": loaded.name,
        "seed": seed,
        "generated": inputs.generated,
        "sizes": sizes,
        "outputs": listed,
        "inner": inner,
        "stats": stats,
    });
    let items = vec![terminal_safe(&item.to_string())];
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), inputs.findings, items)
}
