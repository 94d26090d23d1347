//! `onnx infer`: the types and shapes of all values, written into the model, and why some are not known.

use std::fmt::Write as _;

use onnx_diag::render::text;
use onnx_diag::{Caps, Clean, Diagnostic, Policy, Severity, Sink};
use onnx_ir::{MetadataEntry, Model, ValueId};
use onnx_shape_infer::{Gap, Inference, MergePolicy, Options, Why, contrib, infer, name_sizes};
use onnx_types::{Dim, Symbol, Type};

use crate::args::{InferArgs, Merge, Symbols};
use crate::exit::{Failure, Outcome};
use crate::format;
use crate::info::types;
use crate::input::{Loaded, display_name, is_stream, load};
use crate::output::{Colours, DIM, KEY, Out, paint, shown};
use crate::progress::Progress;
use crate::report::{self, ReportFormat};
use crate::size::plural;
use crate::store;

/// Metadata of the model under this key and the name of a variable say which size the variable stands for.
const METADATA_PREFIX: &str = "onnx.infer.dim.";

pub(crate) fn run(args: &InferArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let output = match &args.output_file {
        Some(path) => Some((path.as_path(), format::of_output(path, args.to)?)),
        None => None,
    };
    if let Some((path, format)) = output {
        store::refuse_terminal(path, format)?;
        if is_stream(path) && !out.is_for_people() {
            let failure = Failure::new("the model and the report cannot both be written to standard output");
            return Err(failure.help("use `-o FILE`"));
        }
    }
    let progress = Progress::start("inferring", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = match load(&args.input_file, &args.input) {
        Ok(loaded) => loaded,
        Err(failure) => {
            progress.aside(|| out.refused(Some(&display_name(&args.input_file)), &failure))?;
            return Ok(failure.outcome());
        }
    };
    progress.aside(|| loaded.report(out, args.keep_going))?;
    let sizes = sizes(&mut loaded.model, &args.sizes)?;
    let source = loaded.source()?;
    let registry = contrib::registry();
    let mut options = Options::default().with_data(&source).with_sizes(&sizes).with_registry(&registry);
    options.limits = loaded.limits;
    options.values = !args.no_values;
    options.check_types = args.check_types;
    options.defaults_are_constant = args.trust_defaults;
    let inference = infer(&mut loaded.model, &options);
    let contradicts = inference.findings().has_errors();
    let found = found(&loaded, &inference, args);
    progress.aside(|| list(&loaded, &found, args, out));
    progress.aside(|| out.input(&loaded, found))?;
    let spoken = explanations(args, &loaded.model, &inference)?;
    if output.is_some_and(|(path, _)| is_stream(path)) || !out.is_for_people() {
        progress.aside(|| out.aside(&spoken));
    } else {
        progress.aside(|| out.text(&spoken))?;
    }
    if args.strict && contradicts {
        return Ok(Outcome::Findings);
    }
    let Some((path, format)) = output else { return Ok(Outcome::Fine) };
    let policy = match args.merge {
        Merge::Keep => MergePolicy::Keep,
        Merge::Refine => MergePolicy::Refine,
        Merge::Override => MergePolicy::Override,
    };
    inference.apply(&mut loaded.model, policy).map_err(Failure::new)?;
    if args.symbols == Symbols::Identifiers {
        name(&mut loaded.model);
    }
    let options = store::options(args.output, loaded.files()?);
    let files = store::keep_reachable(&mut loaded, path, out)?;
    let to = store::Destination { path, format, limits: loaded.limits, options };
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// The sizes that the user sets, by the symbols of the model.
fn sizes(model: &mut Model, wanted: &[(String, i64)]) -> Result<Vec<(Symbol, i64)>, Failure> {
    let mut sizes = Vec::new();
    for (name, size) in wanted {
        if !is_variable(model, name) {
            let known = variables(model);
            let failure = Failure::new(format_args!("no input has the dimension variable `{}`", shown(name)));
            return Err(if known.is_empty() {
                failure.help("the inputs of this model have no dimension variables")
            } else {
                failure.help(format!("there are {}", known.join(", ")))
            });
        }
        sizes.push((model.intern(name), *size));
    }
    Ok(sizes)
}

/// The texts of the dimension variables of the inputs, each once.
fn variables(model: &Model) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let shape = model.ty(input).and_then(Type::shape);
        for dim in shape.into_iter().flat_map(|shape| shape.dims()) {
            if let Dim::Var(name) = dim {
                let text = format!("`{}`", shown(model.str(*name)));
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
    }
    texts
}

/// Whether an input has a size of this name, or one that is computed from it.
fn is_variable(model: &mut Model, name: &str) -> bool {
    let mut texts = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let shape = model.ty(input).and_then(Type::shape);
        let dims = shape.into_iter().flat_map(|shape| shape.dims());
        texts.extend(dims.filter_map(|dim| match dim {
            Dim::Var(text) => Some(model.str(*text).to_owned()),
            _ => None,
        }));
    }
    let symbol = model.intern(name);
    texts.iter().any(|text| {
        let (exprs, names) = model.exprs_mut();
        text == name || {
            let dim = exprs.parse(names, text);
            exprs.symbols(dim).contains(&symbol)
        }
    })
}

/// The diagnostics of inference; contradictions are errors with `--strict` only.
fn found(loaded: &Loaded, inference: &Inference, args: &InferArgs) -> Sink {
    let found = inference.findings();
    let policy = if args.strict { Policy::new() } else { Policy::new().at_most(Severity::Warning) };
    let mut sink = Sink::with(policy, Caps { per_rule: usize::MAX, total: found.diagnostics().len() });
    sink.merge(found.clone());
    if args.format.format != ReportFormat::Text {
        report::select(&loaded.model, &mut sink);
    }
    sink
}

/// Lists contradictions on standard error.
fn list(loaded: &Loaded, findings: &Sink, args: &InferArgs, out: &Out) {
    if findings.is_empty() {
        return;
    }
    let source = loaded.text.as_deref().map(String::from_utf8_lossy);
    let options =
        text::Options { style: &Colours, source: source.as_deref(), ..text::Options::new(&loaded.name) };
    out.findings(findings, &options);
    let is_contradiction = |found: &Diagnostic| found.rule.severity == Severity::Error;
    if !args.strict && findings.diagnostics().iter().any(is_contradiction) {
        out.aside("note: with `--strict` these are errors, and no output is written\n");
    }
}

/// What `--explain` and `--report` say.
fn explanations(args: &InferArgs, model: &Model, inference: &Inference) -> Result<String, Failure> {
    let mut text = String::new();
    if let Some(name) = &args.explain {
        let values = named(model, name);
        if values.is_empty() {
            return Err(Failure::new(format_args!("there is no value `{}`", shown(name))));
        }
        for value in values {
            explain(&mut text, model, inference, value)?;
        }
    }
    if args.report {
        report(&mut text, model, inference)?;
    }
    Ok(text)
}

/// The values of the main graph and the graphs nested in it, in order.
fn values(model: &Model) -> impl Iterator<Item = ValueId> + '_ {
    model.graphs_in(model.main_graph()).flat_map(|graph| {
        let inputs = model.graph(graph).inputs().iter().copied();
        let outputs =
            model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied());
        inputs.chain(model.initializers(graph)).chain(outputs)
    })
}

fn named(model: &Model, name: &str) -> Vec<ValueId> {
    let Some(name) = model.names().get(name) else { return Vec::new() };
    values(model).filter(|&value| model.value(value).name() == name).collect()
}

fn explain(text: &mut String, model: &Model, inference: &Inference, value: ValueId) -> Result<(), Failure> {
    let gaps = inference.gaps(model, value);
    let known = inference.ty(value).to_type();
    let known = known.map_or_else(|| "of unknown type".to_owned(), |ty| types::text(model, &ty));
    writeln!(text, "{} is {known}", quoted(model, value))?;
    if gaps.is_empty() {
        writeln!(text, "  everything is known")?;
    }
    for gap in gaps {
        let Some(why) = inference.why(model, value, gap) else { continue };
        writeln!(text, "  {} is not known:", described(gap))?;
        for &step in &why.chain {
            let lost = if Some(&step) == why.chain.last() { lost_here(&why) } else { "" };
            writeln!(text, "    {}{}", made_by(model, step), paint(DIM, lost))?;
        }
        if let Some(&last) = why.chain.last() {
            writeln!(text, "    to recover it, declare {}", annotation(model, inference, last, why.missing))?;
        }
    }
    Ok(())
}

fn lost_here(why: &Why) -> &'static str {
    if why.node.is_some() { "  (lost here)" } else { "  (the model leaves it open)" }
}

fn report(text: &mut String, model: &Model, inference: &Inference) -> Result<(), Failure> {
    let (mut all, mut open) = (0_u64, 0_u64);
    for value in values(model) {
        all += 1;
        let gaps = inference.gaps(model, value);
        open += u64::from(!gaps.is_empty());
        for gap in gaps {
            let Some(why) = inference.why(model, value, gap) else { continue };
            let Some(&last) = why.chain.last() else { continue };
            let place = if last == value {
                made_by(model, last)
            } else {
                format!("{} of {}", described(why.missing), made_by(model, last))
            };
            writeln!(
                text,
                "{}: {}: {place}{}",
                quoted(model, value),
                described(gap),
                paint(DIM, lost_here(&why))
            )?;
        }
    }
    writeln!(text, "{} of {} not known completely", open, plural(all, "value"))?;
    Ok(())
}

fn described(gap: Gap) -> String {
    match gap {
        Gap::Type => "the type".to_owned(),
        Gap::Elem => "the element type".to_owned(),
        Gap::Rank => "the rank".to_owned(),
        Gap::Size(axis) => format!("the size of axis {axis}"),
    }
}

fn quoted(model: &Model, value: ValueId) -> String {
    format!("`{}`", paint(KEY, shown(model.str(model.value(value).name()))))
}

/// A value with the node that makes it: `y` = Relu "r".
fn made_by(model: &Model, value: ValueId) -> String {
    let name = quoted(model, value);
    let Some(node) = model.value(value).producer() else { return format!("{name}, an input") };
    let node = model.node(node);
    let op = Clean(model.str(node.op()));
    match model.str(node.name()) {
        "" => format!("{name} = {op}"),
        label => format!("{name} = {op} \"{}\"", shown(label)),
    }
}

/// The smallest declaration that recovers what is missing.
fn annotation(model: &Model, inference: &Inference, value: ValueId, missing: Gap) -> String {
    let name = quoted(model, value);
    match missing {
        Gap::Type => format!("the type of {name}, such as float[N]"),
        Gap::Elem => format!("the element type of {name}"),
        Gap::Rank => format!("the shape of {name}, such as {}[N]", elem(inference, value)),
        Gap::Size(axis) => {
            let rank = inference.shape(value).map_or(axis + 1, <[Dim]>::len);
            let dims: Vec<&str> = (0..rank).map(|at| if at == axis { "SIZE" } else { "?" }).collect();
            format!("{name} as {}[{}]", elem(inference, value), dims.join(", "))
        }
    }
}

fn elem(inference: &Inference, value: ValueId) -> &'static str {
    inference.elem(value).map_or("float", onnx_types::ElemType::name)
}

/// Makes every dimension text an identifier, and writes down what the identifiers stand for.
fn name(model: &mut Model) {
    for (symbol, text) in name_sizes(model) {
        let key = format!("{METADATA_PREFIX}{}", model.str(symbol));
        let entry = MetadataEntry::new(model.intern(&key), text);
        model.info_mut().metadata.push(entry);
    }
}
