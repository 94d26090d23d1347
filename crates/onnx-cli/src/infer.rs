//! `onnx infer`: the types and shapes of all values, written into the model, and why some are not known.

mod guards;
mod json;
mod operands;
mod unknown;

use std::collections::HashMap;

use onnx_diag::render::text;
use onnx_diag::{Caps, Diagnostic, Policy, Rule, Severity, Sink};
use onnx_ir::{Model, set_metadata};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, MergePolicy, fault, name_sizes};
use onnx_types::{Dim, Symbol, Type};

use crate::args::{Changed, ExternalArgs, InferArgs, Merge, Runtime, Symbols};
use crate::cost::bind;
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, is_stream, load};
use crate::output::{Colours, Out};
use crate::progress::Progress;
use crate::report;
use crate::run::{Set, parse_set};
use crate::{dimensions, precondition, rules, store, weights};

/// Metadata of the model under this key and the name of a variable say which size the variable stands for.
const METADATA_PREFIX: &str = "onnx.infer.dim.";

pub(crate) fn run(args: &InferArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place: args.in_place.in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("inferring", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let set = sizes(args)?;
    let sizes = match &mut out.shared_sizes {
        Some(shared) => shared.bind(&mut loaded.model, &set)?,
        None => bind(&mut loaded.model, &set)?,
    };
    let registry = args.documents.registry(&loaded.execution)?;
    let (severity, is_free) = (&args.input.severity, args.keep_going || args.is_report());
    progress.aside(|| precondition::require_order(&loaded, &registry, severity, is_free, out))?;
    let bodies = args.documents.link(&mut loaded.model, &loaded.execution)?;
    let source = loaded.source()?;
    let mut options = options_of(args).with_data(&source).with_sizes(&sizes).with_registry(&registry);
    let (mut inference, is_tolerated) = inferred(&loaded, &mut options, &registry)?;
    let causes = causes(&loaded, &inference, options)?;
    // Types that follow from an operator that the node does not mean are not written.
    let invalid = if args.is_report() { Sink::new() } else { precondition::invalid(&loaded, &registry)? };
    let has_invalid = !invalid.is_empty() && !args.keep_going;
    let found = found(
        &loaded,
        causes.as_ref().unwrap_or(&inference),
        if has_invalid { invalid } else { Sink::new() },
        args,
        is_tolerated && !has_invalid,
    )?;
    let is_refused = has_invalid || (found.has_errors() && !args.keep_going);
    progress.aside(|| {
        list(&loaded, &found, args, out);
        if has_invalid {
            out.help(precondition::HELP);
        }
    });
    let is_aside = args.output.output_file.as_deref().is_some_and(is_stream);
    progress.aside(|| describe(args, &loaded, (&inference, &registry), found, is_aside, out))?;
    if is_refused {
        return Ok(Outcome::Findings);
    }
    if args.is_report() {
        return Ok(Outcome::Fine);
    }
    let policy = match args.merge {
        Merge::Keep => MergePolicy::Keep,
        Merge::Refine => MergePolicy::Refine,
        Merge::Override => MergePolicy::Override,
    };
    inference.apply(&mut loaded.model, policy).map_err(Failure::defect)?;
    if args.write_guards {
        inference.apply_guards(&mut loaded.model);
    }
    bodies.remove(&mut loaded.model);
    if args.symbols == Symbols::Identifiers {
        name(&mut loaded.model);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, loaded.files()?);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

fn options_of(args: &InferArgs) -> InferOptions<'static> {
    let mut options = InferOptions::default();
    options.values = !args.no_values;
    // Inferred types take the place of declared ones, which the nodes behind must accept, too.
    options.check_types = args.check_types || args.merge == Merge::Override;
    options.defaults_are_constant = args.trust_defaults;
    options.names_are_trusted = args.trust_names;
    if args.runtime == Some(Runtime::Onnxruntime) {
        options.runtime = onnx_shape_infer::Runtime::Onnxruntime;
    }
    options
}

/// What is inferred, and whether operands that contradict each other are warned of only: what would follow from the first of them is
/// not what any runtime computes, so that it is unknown.
fn inferred(
    loaded: &Loaded,
    options: &mut InferOptions<'_>,
    registry: &Registry,
) -> Result<(Inference, bool), Failure> {
    let inference = loaded.infer(options.clone())?;
    if options.check_types {
        return Ok((inference, false));
    }
    let is_tolerated = !inference.findings().has_errors();
    if !operands::contradict(&loaded.model, &inference, registry) {
        return Ok((inference, is_tolerated));
    }
    options.check_types = true;
    Ok((loaded.infer(options.clone())?, is_tolerated))
}

/// The inference that compares operands, too, if the model contradicts itself: all that follows from a wrong declaration
/// contradicts others, and only the causes are found then.
fn causes(
    loaded: &Loaded,
    inference: &Inference,
    options: InferOptions<'_>,
) -> Result<Option<Inference>, Failure> {
    match inference.findings().has_errors() && !options.check_types {
        true => loaded.infer(options.with_check_types(true)).map(Some),
        false => Ok(None),
    }
}

/// Adds the diagnostics, and what `--why` and `--unknown` ask for, to the output.
fn describe(
    args: &InferArgs,
    loaded: &Loaded,
    (inference, registry): (&Inference, &Registry),
    found: Sink,
    is_aside: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut found = found;
    found.merge(loaded.findings.clone());
    if out.is_for_people() {
        out.input(loaded, found)?;
        return unknown::write(args, loaded, (inference, registry), is_aside, out);
    }
    out.result_kind("infer/1", "models");
    let items = json::items(args, loaded, inference)?;
    report::select(&loaded.model, &mut found);
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), found, items)
}

/// The sizes that the user sets.
fn sizes(args: &InferArgs) -> Result<Vec<Set>, Failure> {
    Ok(args.sizes.iter().map(|text| parse_set(text)).collect::<Result<Vec<_>, _>>()?.concat())
}

/// The sizes that the user sets, by the symbols of the model.
pub(crate) fn variable_sizes(
    model: &mut Model,
    wanted: &[(String, i64)],
) -> Result<Vec<(Symbol, i64)>, Failure> {
    let mut sizes = Vec::new();
    for (name, size) in wanted {
        if !is_variable(model, name) {
            return Err(dimensions::unknown(model, name, &variables(model)));
        }
        sizes.push((model.intern(name), *size));
    }
    require_consistent(model, &sizes)?;
    Ok(sizes)
}

/// Refuses two sizes of one variable.
pub(crate) fn require_consistent(model: &Model, sizes: &[(Symbol, i64)]) -> Result<(), Failure> {
    let mut known: HashMap<Symbol, i64> = HashMap::new();
    for &(variable, second) in sizes {
        let first = *known.entry(variable).or_insert(second);
        if first != second {
            return Err(dimensions::conflict(model.str(variable), first, second));
        }
    }
    Ok(())
}

/// The names of the dimension variables of the inputs.
fn variables(model: &Model) -> Vec<&str> {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let shapes = inputs.filter_map(|&input| model.ty(input).and_then(Type::shape));
    let dims = shapes.flat_map(|shape| shape.dims());
    dims.filter_map(|dim| match dim {
        Dim::Var(name) => Some(model.str(*name)),
        _ => None,
    })
    .collect()
}

/// Whether an input has a size of this name, or one that is computed from it.
pub(crate) fn is_variable(model: &mut Model, name: &str) -> bool {
    let texts: Vec<String> = variables(model).into_iter().map(str::to_owned).collect();
    let symbol = model.intern(name);
    texts.iter().any(|text| {
        let (exprs, names) = model.exprs_mut();
        text == name || {
            let dim = exprs.parse(names, text);
            exprs.symbols(dim).contains(&symbol)
        }
    })
}

/// How many contradictions of a rule a person reads: the first ones are the causes of others.
const TEXT_CAPS: Caps = Caps { per_rule: 10, total: 100 };

/// Whether a contradiction of a rule is an error. `--keep-going` asks for a result in spite of all, and `--merge override`
/// repairs those between declared types and inferred ones.
fn is_error(rule: &Rule, args: &InferArgs) -> bool {
    let is_repaired = || args.merge == Merge::Override && precondition::is_about_declarations(rule);
    is_strict(args) || !(args.is_report() || args.keep_going || is_repaired())
}

/// Whether all contradictions are errors. Denied warnings include them.
fn is_strict(args: &InferArgs) -> bool {
    args.strict || args.input.severity.deny.iter().any(|what| rules::is_class(what))
}

/// The invalid nodes and the diagnostics of inference. Contradictions are warnings where they do not prevent an output, and so are
/// those of operands if `is_tolerated` says it.
fn found(
    loaded: &Loaded,
    inference: &Inference,
    invalid: Sink,
    args: &InferArgs,
    is_tolerated: bool,
) -> Result<Sink, Failure> {
    let found = inference.findings();
    let severity = &args.input.severity;
    let is_lowered = |rule: &&&Rule| {
        let is_tolerated = is_tolerated && !is_strict(args) && operands::is_about(rule);
        rule.severity == Severity::Error && (is_tolerated || !is_error(rule, args))
    };
    let lowered = fault::RULES.iter().filter(is_lowered);
    let policy = lowered.fold(Policy::new(), |policy, rule| policy.set(rule, Severity::Warning));
    let parts = [&invalid, found, &loaded.findings];
    let total = parts.into_iter().map(|sink| sink.diagnostics().len()).sum();
    let all = Caps { per_rule: usize::MAX, total };
    let mut sink = Sink::with(severity.policy(policy)?, severity.caps().unwrap_or(all));
    sink.merge(invalid);
    sink.merge(found.clone());
    Ok(sink)
}

/// Lists contradictions on standard error.
fn list(loaded: &Loaded, findings: &Sink, args: &InferArgs, out: &Out) {
    if findings.is_empty() {
        return;
    }
    let source = loaded.text.as_deref().map(String::from_utf8_lossy);
    let options = text::Options::new(&loaded.name).with_style(&Colours).with_source(source.as_deref());
    let mut shown = findings.clone();
    if args.input.severity.caps().is_none() {
        shown.limit(TEXT_CAPS);
    }
    out.findings(&shown, &options);
    let is_contradiction = |found: &Diagnostic| found.rule.severity == Severity::Error;
    if findings.has_errors() && findings.diagnostics().iter().any(is_contradiction) {
        out.help("`--keep-going` writes what can be inferred; `--merge override` replaces declared types that are wrong");
    }
}

/// Makes every dimension text an identifier, and writes down what the identifiers stand for.
fn name(model: &mut Model) {
    for (symbol, text) in name_sizes(model) {
        let key = format!("{METADATA_PREFIX}{}", model.str(symbol));
        let key = model.intern(&key);
        set_metadata(&mut model.info_mut().metadata, key, text);
    }
}
