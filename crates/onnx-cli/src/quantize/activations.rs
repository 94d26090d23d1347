//! `onnx quantize` of activations: calibration, and what was done.

use std::collections::HashSet;
use std::path::Path;

use onnx_codec::file::{FileKind, write_file};
use onnx_compose::{QUANTIZATIONS, Quantization};
use onnx_eval::FailureKind;
use onnx_quantize::{
    CalibrateError, Calibrated, CalibratedError, Calibration, Correction, MeasureOptions, Method,
    QuantizedValue, Ranges, RangesError, StaticOptions, StaticReport, StayReason, Unquantized,
    quantize_calibrated,
};
use onnx_schema::Registry;
use onnx_types::{ElemType, Execution, Interrupt};
use serde_json::Value;

use super::unquantized::{help_with, help_with_budget, why_unquantized};
use super::{elem, inputs_of};
use crate::args::{CalibrationMethod, QuantizeArgs, QuantizedForm};
use crate::exit::{Failure, LibraryError};
use crate::format;
use crate::input::Loaded;
use crate::number_formats::{error_line, warn_of_never_finite};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::reading::read_text;
use crate::run::runs_of;
use crate::samples::{self, Inputs};
use crate::selection::Context;
use crate::size::{grouped, plural};
use crate::{rows, store, targets};

/// The greatest length of a file of ranges in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Number of inputs that are generated.
const GENERATED: usize = 8;

impl LibraryError for RangesError {
    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFinite { .. } | Self::Range(_) => {
                "write two numbers such as [-1.5, 2], or remove the entry and add `--calibrate DIR`, which finds what is missing".to_owned()
            }
            _ => "`--save-ranges FILE` writes such a file; docs/number-formats.md describes it".to_owned(),
        })
    }
}

impl LibraryError for CalibrateError {
    fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Run { limit, .. } => *limit,
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            // The advice is that of the limit.
            Self::Run { limit: Some(_), .. } => None,
            Self::NotFinite(_) => Some(
                "are the inputs of the calibration finite? `--except SELECTOR` leaves nodes as they are"
                    .to_owned(),
            ),
            Self::Run { kind: Some(FailureKind::Data), .. } => Some(
                "are the files of the weights next to the model? `--data-dir DIR` names another folder"
                    .to_owned(),
            ),
            Self::Run { kind: Some(FailureKind::Input), .. } => {
                Some("`onnx info MODEL` lists the inputs with their types".to_owned())
            }
            Self::Run { kind: Some(FailureKind::Missing), .. } => Some(
                "`--weights-only` and `--dynamic` do not run the model, nor do the ranges of a file: `--ranges FILE`"
                    .to_owned(),
            ),
            Self::Run { .. } => Some(
                "`--calibrate DIR` takes inputs of yours, `--seed N` generates others, and `--set DIM=N` sets their sizes"
                    .to_owned(),
            ),
            Self::NoSamples => Some("`--seed 0 --samples 8` generates inputs".to_owned()),
            _ => None,
        }
    }
}

impl LibraryError for CalibratedError {
    fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Calibrate(error) => error.limit(),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Calibrate(error) => error.help(),
            Self::Quantize(error) => error.help(),
            _ => None,
        }
    }
}

/// Refuses requests that need a calibration and have none, before the model is read.
pub(super) fn refuse(args: &QuantizeArgs) -> Result<(), Failure> {
    let calibration = &args.calibration;
    if args.weights_only || args.dynamic || calibration.calibrate.is_some() || calibration.seed.is_some() {
        return Ok(());
    }
    if calibration.ranges.is_none() {
        return Err(Failure::new("activations need ranges from a calibration").help(
            "`--calibrate DIR` with inputs, generated inputs with `--seed 0`, or ranges with `--ranges FILE`; \
             `--weights-only` needs none",
        ));
    }
    let needs = [(args.budget.is_some(), "--budget"), (args.measure, "--measure"), (args.losses, "--losses")];
    match needs.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::new(format_args!("`{option}` needs inputs for runs"))
            .help("`--calibrate DIR`, or generated inputs with `--seed 0`")),
        None => Ok(()),
    }
}

/// The table of a target.
fn table(name: &str, interrupt: &Interrupt) -> Result<Quantization, Failure> {
    if let Some(table) = Quantization::named(name) {
        return Ok(table);
    }
    let names: Vec<String> = QUANTIZATIONS.iter().map(|(name, _)| format!("`{name}`")).collect();
    if !name.contains(['.', '/']) && !Path::new(name).exists() {
        let known: Vec<&str> = QUANTIZATIONS.iter().map(|(name, _)| *name).collect();
        return Err(targets::unknown(name, &known));
    }
    targets::load(name, interrupt)?.quantization.clone().ok_or_else(|| {
        Failure::new(format_args!("the target `{}` has no `quantization`", shown(name)))
            .help(format!("docs/targets.md describes it; tables of the command are {}", names.join(", ")))
    })
}

/// The ranges of a file.
fn read_ranges(path: &Path, interrupt: &Interrupt) -> Result<Ranges, Failure> {
    let text = read_text(path, (MAX_BYTES, "a file of ranges"), interrupt)?;
    Ranges::parse(&text).map_err(|error| {
        let help = error.help();
        let mut failure =
            format::instead(text.as_bytes(), "a file of ranges").unwrap_or_else(|| Failure::from(error));
        failure.help = help;
        failure.about(&shown(&rows::name(path)))
    })
}

/// Warns of ranges of values that the model does not have, and fails if it has none of them.
fn check_names(loaded: &Loaded, ranges: &Ranges, file: &str, out: &Out) -> Result<(), Failure> {
    let model = &loaded.model;
    let values = model.all_graphs().flat_map(|graph| {
        let made =
            model.nodes(graph).flat_map(move |node| model.node(node).outputs().iter().copied().flatten());
        model.graph(graph).inputs().iter().copied().chain(made)
    });
    let known: HashSet<&str> = values.map(|value| model.str(model.value(value).name())).collect();
    let unknown: Vec<&str> =
        ranges.iter().map(|(name, _)| name).filter(|name| !known.contains(name)).collect();
    let Some(first) = unknown.first() else { return Ok(()) };
    let file = shown(file);
    if unknown.len() == ranges.iter().len() {
        return Err(Failure::new(format_args!(
            "{file}: the model has none of the values, such as `{}`",
            shown(first)
        ))
        .help("are the ranges of another model? `--save-ranges FILE` writes those of this one"));
    }
    let names: Vec<String> = unknown.iter().take(5).map(|name| format!("`{}`", shown(name))).collect();
    let more = unknown.len() - names.len();
    let more = if more > 0 { format!(" and {more} others") } else { String::new() };
    out.warning(
        &format!("{file}: the model has no values {}{more}: their ranges are not used", names.join(", ")),
        None,
    );
    Ok(())
}

/// Quantizes a model. Returns what was done, for programs.
pub(super) fn quantize(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    registry: &Registry,
    (to, budget): (ElemType, Option<f64>),
    progress: &Progress,
    out: &mut Out,
) -> Result<Value, Failure> {
    let interrupt = &loaded.execution.interrupt;
    let table = table(args.target.as_deref().unwrap_or("generic"), interrupt)?;
    let known = args.calibration.ranges.as_deref();
    let known = known.map(|path| read_ranges(path, interrupt)).transpose()?;
    if let (Some(ranges), Some(path)) = (&known, &args.calibration.ranges) {
        check_names(loaded, ranges, &rows::name(path), out)?;
    }
    let (model, done, samples) = work(loaded, args, (&table, registry), known, (to, budget), out)?;
    let reason = match done.report.quantized.is_empty() {
        true => why_unquantized(loaded, registry)?,
        false => None,
    };
    loaded.model = model;
    progress.aside(|| describe(&done, reason, to, args, out));
    Ok(done.report.to_json(to, &done.losses, (done.ranges.iter().len(), samples), &done.effect))
}

fn work(
    loaded: &Loaded,
    args: &QuantizeArgs,
    (table, registry): (&Quantization, &Registry),
    known: Option<Ranges>,
    (to, budget): (ElemType, Option<f64>),
    out: &mut Out,
) -> Result<(onnx_ir::Model, Calibrated, usize), Failure> {
    let calibration = &args.calibration;
    let source = loaded.source()?;
    let except = Context::new(loaded)?.nodes(&loaded.model, &args.except)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let execution: Execution = runs_of(&[loaded]).with_seed(calibration.seed.unwrap_or_default());
    let options = StaticOptions::new(table)
        .with_weights(args.weight_type.as_deref().map(elem).transpose()?)
        .with_per_channel(args.per_channel)
        .with_symmetric(args.symmetric)
        .with_except(&except)
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution.clone())
        .with_threads(threads);
    let sizes = samples::sizes(loaded, &calibration.sizes, registry)?;
    let settings = MeasureOptions::default()
        .with_sizes(&sizes)
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution)
        .with_threads(threads);
    let count = if calibration.seed.is_some() { calibration.samples.unwrap_or(GENERATED) } else { 0 };
    let inputs = Inputs::new(loaded, calibration.calibrate.as_deref(), (count, &settings))?;
    let samples = inputs.samples();
    let is_given = calibration.calibrate.is_some() || calibration.seed.is_some();
    let request = Calibration::default()
        .with_ranges(known.unwrap_or_default())
        .with_samples(is_given.then_some(samples))
        .with_method(method(args))
        .with_budget(budget)
        .with_keep_biases(calibration.keep_biases)
        .with_operators(args.form == QuantizedForm::Operator)
        .with_measure(args.measure)
        .with_losses(args.losses);
    let mut result = loaded.model.clone();
    let done = quantize_calibrated(&mut result, to, &request, &options);
    loaded.execution.interrupt.check()?;
    let mut done = done?;
    done.effect.generated = inputs.generated();
    if let Inputs::Generated(generated) = &inputs {
        samples::warn_of_sizes(generated, out);
    }
    warn_of_never_finite(&done.effect, out);
    out.require_no_denied()?;
    save_ranges(loaded, args, &done.ranges, out)?;
    Ok((result, done, samples.count()))
}

/// Writes the ranges, if the arguments name a file.
fn save_ranges(loaded: &Loaded, args: &QuantizeArgs, ranges: &Ranges, out: &mut Out) -> Result<(), Failure> {
    let Some(path) = args.calibration.save_ranges.as_ref() else { return Ok(()) };
    let is_dry_run = args.output.dry_run;
    let options = store::options(args.output.write, loaded.files()?).with_dry_run(is_dry_run);
    let text = ranges.to_text();
    write_file(path, FileKind::Json, &options, |file| file.write_all(text.as_bytes()))?;
    out.output(path, Some("json"), text.len() as u64, !is_dry_run);
    if is_dry_run {
        return Ok(());
    }
    out.written(&format!("wrote the ranges to {}", shown(&rows::name(path))));
    Ok(())
}

const fn method(args: &QuantizeArgs) -> Method {
    match args.calibration.method {
        None | Some(CalibrationMethod::Minmax) => Method::MinMax,
        Some(CalibrationMethod::Percentile) => Method::Percentile(match args.calibration.percentile {
            Some(percentile) => percentile,
            None => 99.999,
        }),
        Some(CalibrationMethod::Entropy) => Method::Entropy,
        Some(CalibrationMethod::Mse) => Method::Mse,
    }
}

/// Number of nodes that stay, by operator and reason.
fn staying(report: &StaticReport) -> Vec<(String, StayReason, usize)> {
    let mut rows: Vec<(String, StayReason, usize)> = Vec::new();
    for (op, _, reason) in &report.stay {
        match rows.iter_mut().find(|row| row.0 == *op && row.1 == *reason) {
            Some(row) => row.2 += 1,
            None => rows.push((op.clone(), *reason, 1)),
        }
    }
    rows
}

/// Warns if nothing is quantized.
fn warn_of_nothing(
    report: &StaticReport,
    (reason, to, args): (Option<Unquantized>, ElemType, &QuantizeArgs),
    out: &Out,
) {
    if let Some(reason) = reason.filter(|_| report.stay.iter().all(|row| row.2 == StayReason::OtherType)) {
        out.warning(&format!("no node is quantized: {reason}"), Some(help_with(reason)));
        return;
    }
    let of_budget = help_with_budget(args, to, true);
    let is_budget = report.stay.iter().any(|(.., reason)| *reason == StayReason::Budget);
    let (message, help) = match (report.stay.is_empty(), is_budget) {
        (true, _) => (
            "no node is quantized: the model has none of an operator that the target quantizes",
            "`onnx info MODEL` counts the operators; `--weights-only` quantizes weights, and docs/targets.md has the tables",
        ),
        (_, true) => ("no node is quantized: the budget keeps all of them", of_budget.as_str()),
        _ => ("no node is quantized: all of them stay", "the reasons are listed; `-v` names the nodes"),
    };
    out.warning(message, Some(help));
}

fn describe(done: &Calibrated, reason: Option<Unquantized>, to: ElemType, args: &QuantizeArgs, out: &Out) {
    let report = &done.report;
    let nodes: usize = report.quantized.iter().map(|(_, count)| count).sum();
    let stay = report.stay.len();
    if nodes == 0 {
        warn_of_nothing(report, (reason, to, args), out);
    }
    out.summary(&format!(
        "{} of {} that could compute with {to}, {}, {}, {} -> {} bytes of weights",
        nodes,
        plural((nodes + stay) as u64, "node"),
        plural(report.pairs as u64, "pair"),
        plural(report.weights.len() as u64, "weight"),
        grouped(done.effect.bytes.0),
        grouped(done.effect.bytes.1)
    ));
    if let Some(form) = &done.form {
        let nodes: Vec<String> =
            form.nodes.iter().map(|(op, count)| format!("{count} {}", shown(op))).collect();
        let nodes = if nodes.is_empty() { "none".to_owned() } else { nodes.join(", ") };
        out.details_of_summary(&format!("in operator form: {nodes}\n"));
    }
    for (op, count) in &report.quantized {
        out.detail(1, &format!("{count:>9} {}", shown(op)));
    }
    for (op, reason, count) in staying(report) {
        out.details_of_summary(&format!("{count:>9} stay  {}: {}\n", shown(&op), reason.text()));
    }
    for (op, name, reason) in &report.stay {
        out.detail(1, &format!("stays: {} of `{}`: {}", shown(op), shown(name), reason.text()));
    }
    if let Some(correction) = &report.correction {
        out.details_of_summary(&correction_line(correction));
    }
    if args.losses {
        out.details_of_summary(&table_of_losses(&done.losses));
    }
    if report.runs > 0 {
        let kept = report.stay.iter().filter(|row| row.2 == StayReason::Budget).count();
        let runs = plural(report.runs as u64, "run");
        out.details_of_summary(&format!(
            "{kept} of {} kept for the budget, found in {runs}\n",
            plural((nodes + kept) as u64, "node")
        ));
    }
    if let Some(measured) = &done.effect.measured {
        out.details_of_summary(&format!("{}\n", error_line(measured, &inputs_of(args, &done.effect))));
    }
}

/// What the correction of biases did.
fn correction_line(correction: &Correction) -> String {
    let biases = grouped(correction.biases as u64);
    let biases = format!("{biases} {}", if correction.biases == 1 { "bias" } else { "biases" });
    let (before, after) = (correction.before, correction.after);
    if correction.is_applied() {
        format!("{biases} corrected: {before:.1} -> {after:.1} dB\n")
    } else {
        format!("{biases} not corrected: the outputs would have {after:.1} dB, not {before:.1}\n")
    }
}

/// The quantized values, those that lose most first.
fn table_of_losses(losses: &[QuantizedValue]) -> String {
    let mut rows: Vec<&QuantizedValue> = losses.iter().collect();
    rows.sort_by(|a, b| a.snr.total_cmp(&b.snr));
    let mut text = String::from("   SNR dB  max error      scale   zero  value\n");
    for value in rows {
        text.push_str(&format!(
            "{:>9.1}  {:>9.2e}  {:>9.2e}  {:>5}  {}\n",
            value.snr,
            value.max_error,
            value.scale,
            value.zero_point,
            shown(&value.name)
        ));
    }
    text
}
