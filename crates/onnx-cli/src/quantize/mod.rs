//! `onnx quantize`: weights, and what computes with them, in a quantized format.

mod activations;
mod unquantized;

use std::collections::{BTreeMap, BTreeSet};

use onnx_codec::ReadMode;
use onnx_ir::{Callee, Model, NodeId};
use onnx_quantize::{
    BlockOptions, DynamicOptions, Effect, Granularity, MeasureOptions, NoScale, QuantizeError, Samples,
    Unquantized, WeightOptions, WeightReport, measure_on, quantize_blocks, quantize_dynamic,
    quantize_weights, weight_bytes,
};
use onnx_schema::Registry;
use onnx_types::tensor::DataSource;
use onnx_types::{ElemType, Execution};

use self::unquantized::{help_with, help_with_budget, why_unquantized};
use crate::args::{CalibrationMethod, Changed, QuantizeArgs, QuantizedForm};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::number_formats::{error_line, report, warn_of_measurement};
use crate::ops::documents;
use crate::output::{Out, shown};
use crate::precondition::{require_valid, require_valid_nodes};
use crate::progress::Progress;
use crate::report::require_own_file;
use crate::run::runs_of;
use crate::samples::{self, Inputs};
use crate::selection::Context;
use crate::size::{grouped, plural};
use crate::{other_tools, store, weights};

impl LibraryError for QuantizeError {
    fn limit(&self) -> Option<&'static str> {
        if let Self::Weight { reason, .. } = self { reason.limit() } else { None }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Type(_) => Some(format!("types: {}", types(is_any).join(", "))),
            Self::Version { needed, .. } => {
                Some(format!("`onnx convert MODEL --opset {needed} -o NEW` first"))
            }
            Self::Target { what, taken, .. } => {
                let option = if *what == "weights" { "--weight-type" } else { "--to" };
                let taken: Vec<String> = taken.iter().map(|elem| format!("`{option} {elem}`")).collect();
                Some(format!("the target takes {}; docs/targets.md describes the tables", taken.join(", ")))
            }
            Self::NoRanges => Some(
                "a calibration with inputs that have elements finds them: `--calibrate DIR`, or generated inputs with `--seed 0`"
                    .to_owned(),
            ),
            Self::Block | Self::BlockOfProduct(_) => Some("`--block 32` is common".to_owned()),
            Self::NoRatio => Some(
                "leave `--budget` out, and `--measure` counts the elements that differ; `onnx edit MODEL --outputs NAME,... -o NEW` makes \
                 outputs of floats that the model computes"
                    .to_owned(),
            ),
            Self::NotMeasured(_) => Some("without `--budget`, the model need not run".to_owned()),
            Self::Weight { reason, .. } if reason.limit().is_none() => Some(
                "are the files of the weights next to the model? `--data-dir DIR` names another folder"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// The names of the types of quantized numbers that have a property.
fn types(is_taken: impl Fn(ElemType) -> bool) -> Vec<String> {
    ElemType::all()
        .filter(|&elem| onnx_quantize::is_quantized_type(elem) && is_taken(elem))
        .map(|elem| elem.to_string())
        .collect()
}

const fn is_any(_: ElemType) -> bool {
    true
}

/// Refuses a type that the kind of quantization does not have, before the model is read.
fn check_type(args: &QuantizeArgs, to: ElemType) -> Result<(), Failure> {
    let bits = to.bits().unwrap_or_default();
    let (what, known) = match (args.weights_only, args.form) {
        (true, QuantizedForm::Qdq) => return Ok(()),
        (true, QuantizedForm::Operator) if matches!(to.name(), "int4" | "uint4" | "int8" | "uint8") => {
            return Ok(());
        }
        (true, QuantizedForm::Operator) => {
            ("weights of `MatMulNBits`", "int4, uint4, int8, uint8".to_owned())
        }
        (false, _) if args.dynamic && matches!(to.name(), "int8" | "uint8") => return Ok(()),
        (false, _) if args.dynamic => ("weights of dynamic quantization", "int8, uint8".to_owned()),
        (false, _) if bits >= 8 => return Ok(()),
        (false, _) => ("activations", types(|elem| elem.bits() >= Some(8)).join(", ")),
    };
    let is_known = |name: &str| known.split(", ").any(|known| known == name);
    let others = types(|elem| !is_known(&elem.to_string())).join(", ");
    Err(Failure::new(format_args!("{what} are not quantized to {to}"))
        .help(format!("types: {known}; with only `--weights-only` also {others}")))
}

/// Refuses options that would have no effect.
fn refuse_idle(args: &QuantizeArgs) -> Result<(), Failure> {
    let calibration = &args.calibration;
    let is_static = !args.weights_only && !args.dynamic;
    let has_runs = calibration.calibrate.is_some() || calibration.seed.is_some();
    let is_measured = args.measure || args.budget.is_some();
    let idle = [
        (
            calibration.calibrate.is_some() && calibration.seed.is_some(),
            "--seed",
            "`--calibrate`: no inputs are generated",
            "leave one of them out",
        ),
        (
            args.weights_only && args.target.is_some() && args.form == QuantizedForm::Qdq,
            "--target",
            "`--weights-only`: no operator computes with quantized numbers",
            "leave it out, or add `--form operator`",
        ),
        (
            !is_static && calibration.seed.is_some() && !is_measured,
            "--seed",
            "this: the model does not run",
            "leave it out, or add `--measure`",
        ),
        (
            is_static && calibration.method.is_some() && !has_runs,
            "--method",
            "ranges of a file only",
            "add `--calibrate DIR`, or generated inputs with `--seed 0`",
        ),
        (
            calibration.percentile.is_some() && calibration.method != Some(CalibrationMethod::Percentile),
            "--percentile",
            "another method",
            "add `--method percentile`",
        ),
        (
            calibration.keep_biases && !has_runs,
            "--keep-biases",
            "ranges of a file only: biases are corrected with the runs of a calibration",
            "leave it out",
        ),
    ];
    refuse_first(&idle)?;
    refuse_idle_inputs(args, is_static, has_runs, is_measured)
}

/// Refuses inputs for runs that do not take place.
fn refuse_idle_inputs(
    args: &QuantizeArgs,
    is_static: bool,
    has_runs: bool,
    is_measured: bool,
) -> Result<(), Failure> {
    let calibration = &args.calibration;
    let has_no_run = match is_static {
        true => !has_runs,
        false => !is_measured,
    };
    refuse_first(&[
        (
            !is_static && calibration.calibrate.is_some() && !is_measured,
            "--calibrate",
            "this: the model does not run",
            "leave it out, or add `--measure`",
        ),
        (
            has_no_run && !calibration.sizes.is_empty(),
            "--set",
            "this: the model does not run on generated inputs",
            if is_static { "leave it out, or add `--seed 0`" } else { "leave it out, or add `--measure`" },
        ),
    ])
}

/// Whether an option has no effect, its name, what it is not for, and what to do.
type Idle = (bool, &'static str, &'static str, &'static str);

fn refuse_first(idle: &[Idle]) -> Result<(), Failure> {
    match idle.iter().find(|(is_idle, ..)| *is_idle) {
        Some((_, option, what, help)) => {
            Err(Failure::new(format_args!("`{option}` is not for {what}")).help(*help))
        }
        None => Ok(()),
    }
}

/// Refuses to write the ranges over the model, its weights or the report.
fn refuse_one_place(args: &QuantizeArgs) -> Result<(), Failure> {
    let Some(ranges) = args.calibration.save_ranges.as_deref() else { return Ok(()) };
    let in_place = args.in_place.in_place.then_some(&args.input_file);
    let output = args.output.output_file.as_ref().or(in_place);
    let report = args.output.report.file.as_ref();
    let others = output.into_iter().chain(report).map(std::path::PathBuf::as_path);
    require_own_file("--save-ranges", ranges, others)
}

pub(crate) fn run(args: &QuantizeArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let to = elem(&args.to)?;
    let budget = args.budget.as_deref().map(budget).transpose()?;
    check_type(args, to)?;
    refuse_idle(args)?;
    activations::refuse(args)?;
    refuse_one_place(args)?;
    let in_place = args.in_place.in_place;
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &args.external, out)?;
    let progress = Progress::start("quantizing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    let before = if in_place { weights::locations(&loaded.model) } else { BTreeSet::new() };
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let registry = documents::registry_with_onnxruntime(&[], &args.input.bounds.execution())?;
    let severity = &args.input.severity;
    progress.aside(|| require_valid_nodes(&loaded, &registry, severity, args.keep_going, out))?;
    progress.aside(|| require_valid(&loaded, &registry, severity, args.keep_going, out))?;
    weights::require_elements(&loaded)?;
    let inputs = loaded.files()?;
    let mode = loaded.mode;
    loaded.held_in = Some(placement.held_in());
    if (args.weights_only || args.dynamic) && !args.measure && args.budget.is_none() {
        // Weights are read one after the other: what is mapped would stay in memory.
        loaded.mode = ReadMode::Memory;
    }
    let item = if args.weights_only || args.dynamic {
        let done = match args.form {
            QuantizedForm::Operator => blocks(&mut loaded, args, &registry, to, out)?,
            QuantizedForm::Qdq if args.dynamic => dynamic(&mut loaded, args, &registry, to, out)?,
            QuantizedForm::Qdq => quantize(&mut loaded, args, &registry, (to, budget), out)?,
        };
        progress.aside(|| describe(&loaded, &done, to, args, out));
        done.report.to_json(to, &done.effect)
    } else {
        activations::quantize(&mut loaded, args, &registry, (to, budget), &progress, out)?
    };
    loaded.mode = mode;
    loaded.execution.interrupt.check()?;
    progress.aside(|| report(&loaded, "quantize/1", &item, out))?;
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    weights::mention_left(&before, &loaded.model, out);
    Ok(Outcome::Fine)
}

/// Reads the name of a type.
fn elem(text: &str) -> Result<ElemType, Failure> {
    let known = ElemType::all().find(|elem| elem.to_string() == text);
    known.filter(|&elem| onnx_quantize::is_quantized_type(elem)).ok_or_else(|| {
        let help = format!("types: {}", types(is_any).join(", "));
        let help = other_tools::number_format(text)
            .map_or(help, |option| format!("`onnx convert MODEL {option} -o NEW` changes the whole model"));
        Failure::new(format_args!("numbers are not quantized to `{}`", shown(text))).help(help)
    })
}

/// Reads `snr=NUMBER`.
fn budget(text: &str) -> Result<f64, Failure> {
    let number = text.strip_prefix("snr=").and_then(|number| number.parse::<f64>().ok());
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        Failure::new(format_args!("`{}` is not a budget", shown(text)))
            .help("write the least ratio of signal to noise in decibels: `snr=30`")
    })
}

/// The inputs of the runs, in a sentence.
fn inputs_of(args: &QuantizeArgs, effect: &Effect) -> String {
    samples::described(args.calibration.calibrate.is_some(), &effect.generated)
}

/// What was done.
struct Done {
    report: WeightReport,
    effect: Effect,
    /// Why nothing of the model is quantized, if its products and convolutions say.
    reason: Option<Unquantized>,
}

fn quantize(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    registry: &Registry,
    (to, budget): (ElemType, Option<f64>),
    out: &Out,
) -> Result<Done, Failure> {
    let granularity = match (args.per_channel, args.block) {
        (true, _) => Granularity::Channel,
        (false, Some(size)) => Granularity::Block(size),
        (false, None) => Granularity::Tensor,
    };
    changed(loaded, args, (registry, out), |model, setting| {
        let options = WeightOptions::default()
            .with_granularity(granularity)
            .with_symmetric(args.symmetric)
            .with_except(setting.except)
            .with_budget(budget)
            .with_registry(registry)
            .with_data(setting.data)
            .with_execution(setting.execution)
            .with_samples(Some(setting.samples));
        Ok(quantize_weights(model, to, &options)?)
    })
}

/// Quantizes to products of blocks.
fn blocks(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    registry: &Registry,
    to: ElemType,
    out: &Out,
) -> Result<Done, Failure> {
    if args.target.as_deref() != Some("onnxruntime") {
        return Err(Failure::new("only onnxruntime has an operator with quantized weights, `MatMulNBits`")
            .help("add `--target onnxruntime`, or leave `--form operator` out"));
    }
    if args.budget.is_some() || args.per_channel {
        let (option, help) = match args.per_channel {
            true => (
                "--per-channel",
                "leave it out: the operator has a scale for each block of a column, `--block N`",
            ),
            false => (
                "--budget",
                "`--measure` states the error, and `--except SELECTOR` keeps nodes; without `--form operator` and `--target`, \
                 `--budget` chooses the weights",
            ),
        };
        return Err(Failure::new(format_args!("`{option}` is not for `MatMulNBits`")).help(help));
    }
    changed(loaded, args, (registry, out), |model, setting| {
        let options = BlockOptions::default()
            .with_block(args.block.unwrap_or(32))
            .with_symmetric(args.symmetric)
            .with_except(setting.except)
            .with_registry(registry)
            .with_data(setting.data)
            .with_execution(setting.execution);
        Ok(quantize_blocks(model, to, &options)?)
    })
}

/// Quantizes dynamically.
fn dynamic(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    registry: &Registry,
    to: ElemType,
    out: &Out,
) -> Result<Done, Failure> {
    changed(loaded, args, (registry, out), |model, setting| {
        let options = DynamicOptions::default()
            .with_per_channel(args.per_channel)
            .with_except(setting.except)
            .with_registry(registry)
            .with_data(setting.data)
            .with_execution(setting.execution);
        let done = quantize_dynamic(model, to, &options)?;
        Ok(WeightReport::of(done.weights, done.stay))
    })
}

/// What a change of weights gets from the arguments.
struct Setting<'a> {
    except: &'a [NodeId],
    data: &'a dyn DataSource,
    execution: Execution,
    samples: &'a dyn Samples,
}

/// Changes weights by a function of the library, and measures the result, unless a budget was measured already.
fn changed(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    (registry, out): (&Registry, &Out),
    change: impl FnOnce(&mut Model, Setting<'_>) -> Result<WeightReport, Failure>,
) -> Result<Done, Failure> {
    let source = loaded.source()?;
    let except = Context::new(loaded)?.nodes(&loaded.model, &args.except)?;
    let execution = runs_of(&[loaded]).with_seed(args.calibration.seed.unwrap_or_default());
    let sizes = samples::sizes(loaded, &args.calibration.sizes, registry)?;
    let settings = MeasureOptions::default()
        .with_sizes(&sizes)
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution.clone());
    let inputs = Inputs::new(loaded, args.calibration.calibrate.as_deref(), (1, &settings))?;
    let mut result = loaded.model.clone();
    let old = weight_bytes(&result);
    let setting = Setting { except: &except, data: &source, execution, samples: inputs.samples() };
    let report = change(&mut result, setting)?;
    let measured = match (args.budget.is_some(), args.measure) {
        (true, _) => Some(Ok(report.outputs.clone())),
        (false, true) => Some(measure_on(&loaded.model, &result, inputs.samples(), &settings)),
        (false, false) => None,
    };
    let effect = Effect::new((old, weight_bytes(&result)), measured).with_generated(inputs.generated());
    warn_of_measurement(&effect, &inputs, out);
    let reason = if report.weights.is_empty() { why_unquantized(loaded, registry)? } else { None };
    loaded.model = result;
    Ok(Done { report, effect, reason })
}

/// What a model has in the place of products whose weights could be blocks, and what quantizes it.
fn without_products(loaded: &Loaded) -> (String, String) {
    let model = &loaded.model;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        if let Callee::Standard(schema) = model.callee(node, Registry::STANDARD)
            && schema.traits().contracts()
        {
            *counts.entry(schema.name()).or_default() += 1;
        }
    }
    let found: Vec<String> = counts.iter().map(|(name, count)| format!("{count} `{name}`")).collect();
    let help = "without `--form operator` and `--target`, weights of `Conv` and `Gather` are quantized, too";
    match found.is_empty() {
        true => ("no operator with a weight".to_owned(), help.to_owned()),
        false => (format!("{} without one", found.join(", ")), help.to_owned()),
    }
}

/// Warns if no weight is quantized.
fn warn_of_nothing(done: &Done, to: ElemType, args: &QuantizeArgs, loaded: &Loaded, out: &Out) {
    let report = &done.report;
    let (reason, help) = match (report.weights.is_empty(), done.reason) {
        (false, _) => ("the budget keeps all of them".to_owned(), help_with_budget(args, to, false)),
        (true, Some(reason)) => (reason.to_string(), help_with(reason).to_owned()),
        (true, _) if !report.stay.is_empty() => {
            let has_no_scale =
                |row: &(String, NoScale)| matches!(row.1, NoScale::NotFinite | NoScale::TooSmall);
            let what =
                if report.stay.iter().all(has_no_scale) { "they get no scale" } else { "all of them stay" };
            (what.to_owned(), "the reasons are listed".to_owned())
        }
        (true, None) if args.form == QuantizedForm::Operator => {
            let (others, help) = without_products(loaded);
            let what = "`MatMulNBits` takes the place of `MatMul` and `Gemm` with a constant matrix as second operand";
            (format!("{what}, and the model has {others}"), help)
        }
        (true, None) => (
            "none of `float` is the constant operand of an operator that takes it".to_owned(),
            "`onnx weights list MODEL` lists the weights with their types; `--except` leaves those of nodes"
                .to_owned(),
        ),
    };
    out.warning(&format!("no weight is quantized: {reason}"), Some(&help));
}

/// Lists the weights that stay; those of one reason are counted if there are more than a few, and listed for `-v`.
fn describe_staying(report: &WeightReport, out: &Out) {
    const FEW: usize = 4;
    let mut rows: Vec<(NoScale, Vec<&str>)> = Vec::new();
    for (name, reason) in &report.stay {
        match rows.iter_mut().find(|row| row.0 == *reason) {
            Some(row) => row.1.push(name),
            None => rows.push((*reason, vec![name])),
        }
    }
    for (reason, names) in rows {
        let is_few = names.len() <= FEW;
        if let Some(first) = names.first().filter(|_| !is_few) {
            let others = names.len() - 1;
            out.details_of_summary(&format!(
                "{:>9} stay  {} and {others} others: {}\n",
                names.len(),
                shown(first),
                reason.text()
            ));
        }
        for name in names {
            let line = format!("stays  {}: {}", shown(name), reason.text());
            match is_few {
                true => out.details_of_summary(&format!("{:>9} {line}\n", "")),
                false => out.detail(1, &line),
            }
        }
    }
}

fn describe(loaded: &Loaded, done: &Done, to: ElemType, args: &QuantizeArgs, out: &Out) {
    let weights = &done.report.weights;
    let kept = weights.iter().filter(|weight| weight.is_kept).count();
    if kept == weights.len() {
        warn_of_nothing(done, to, args, loaded, out);
    }
    out.summary(&format!(
        "{} in {to}, {} -> {} bytes of weights",
        plural((weights.len() - kept) as u64, "weight"),
        grouped(done.effect.bytes.0),
        grouped(done.effect.bytes.1)
    ));
    describe_staying(&done.report, out);
    let (old, new) = done.effect.bytes;
    if let Some(size) = args.block.filter(|_| new >= old && kept < weights.len()) {
        out.warning(
            &format!("the weights have not become smaller: their scales are for blocks of {size}"),
            Some("use a larger `--block`, such as 32, or leave it out"),
        );
    }
    let worst = weights.iter().filter(|weight| !weight.is_kept).min_by(|a, b| a.snr.total_cmp(&b.snr));
    if let Some(worst) = worst.filter(|worst| worst.snr.is_infinite() && worst.snr > 0.0) {
        let zero = if worst.max_error == 0.0 { "no weight loses anything\n" } else { "" };
        out.details_of_summary(zero);
    } else if let Some(worst) = worst {
        out.details_of_summary(&format!(
            "the weight that loses most is `{}`: {:.1} dB, {:.2e} at most\n",
            shown(&worst.name),
            worst.snr,
            worst.max_error
        ));
    }
    for weight in weights {
        let kept = if weight.is_kept { ", stays" } else { "" };
        out.detail(
            1,
            &format!("{}: {:.1} dB, {:.2e} at most{kept}", shown(&weight.name), weight.snr, weight.max_error),
        );
    }
    if done.report.runs > 0 {
        let runs = plural(done.report.runs as u64, "run");
        out.details_of_summary(&format!(
            "{kept} of {} kept for the budget, found in {runs}\n",
            plural(weights.len() as u64, "weight")
        ));
    }
    if let Some(measured) = &done.effect.measured {
        out.details_of_summary(&format!("{}\n", error_line(measured, &inputs_of(args, &done.effect))));
    }
}
