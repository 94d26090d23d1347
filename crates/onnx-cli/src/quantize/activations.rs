//! `onnx quantize` of activations: calibration, and what was done.

use std::path::Path;

use onnx_codec::file::{FileKind, write_file};
use onnx_compose::{QUANTIZATIONS, Quantization};
use onnx_quantize::{
    Budget, CalibrateError, GeneratedSamples, MeasureOptions, MeasuredOutput, Method, OperatorForm,
    QuantizedValue, Ranges, RangesError, Samples, StaticOptions, StaticReport, StayReason, calibrate, losses,
    measure_on, quantize_static, use_operators,
};
use onnx_types::{ElemType, Execution};
use serde_json::{Value, json};

use super::samples::FileSamples;
use super::{elem, weights_item};
use crate::args::{CalibrationMethod, QuantizeArgs, QuantizedForm};
use crate::exit::{Failure, LibraryError};
use crate::input::Loaded;
use crate::number_formats::{GENERATED_INPUTS, error_line, outputs_item, weight_bytes};
use crate::ops::documents;
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::selection::Context;
use crate::size::{grouped, plural};
use crate::{store, targets};

/// The greatest length of a file of ranges in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Number of inputs that are generated.
const GENERATED: usize = 8;

impl LibraryError for RangesError {
    fn help(&self) -> Option<String> {
        Some("`--save-ranges FILE` writes such a file; docs/number-formats.md describes it".to_owned())
    }
}

impl LibraryError for CalibrateError {
    fn help(&self) -> Option<String> {
        match self {
            Self::Run { .. } => Some("`onnx run MODEL` runs the model on other inputs".to_owned()),
            Self::NoSamples => Some("`--seed 0 --samples 8` generates inputs".to_owned()),
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
fn table(name: &str) -> Result<Quantization, Failure> {
    if let Some(table) = Quantization::named(name) {
        return Ok(table);
    }
    let names: Vec<String> = QUANTIZATIONS.iter().map(|(name, _)| format!("`{name}`")).collect();
    if !name.contains(['.', '/']) && !Path::new(name).exists() {
        return Err(Failure::new(format_args!("no target is named `{}`", shown(name)))
            .help(format!("write {} or the file of a target", names.join(", "))));
    }
    targets::load(name)?.quantization.clone().ok_or_else(|| {
        Failure::new(format_args!("the target `{}` has no `quantization`", shown(name)))
            .help(format!("docs/targets.md describes it; tables of the command are {}", names.join(", ")))
    })
}

/// The ranges of a file.
fn read_ranges(path: &Path) -> Result<Ranges, Failure> {
    let name = path.display().to_string();
    let failed = |error| Failure::not_readable(format_args!("{}: {error}", shown(&name)));
    if std::fs::metadata(path).map_err(failed)?.len() > MAX_BYTES {
        return Err(Failure::new(format_args!("{}: the file is too large for ranges", shown(&name))));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ranges::parse(&text).map_err(|error| Failure::from(error).about(&shown(&name)))
}

/// What was done.
struct Done {
    report: StaticReport,
    form: Option<OperatorForm>,
    ranges: usize,
    samples: usize,
    losses: Vec<QuantizedValue>,
    measured: Option<Result<Vec<MeasuredOutput>, String>>,
    bytes: (u64, u64),
}

/// Quantizes a model. Returns what was done, for programs.
pub(super) fn quantize(
    loaded: &mut Loaded,
    args: &QuantizeArgs,
    to: ElemType,
    budget: Option<f64>,
    progress: &Progress,
    out: &mut Out,
) -> Result<Value, Failure> {
    let table = table(&args.target)?;
    let known = args.calibration.ranges.as_deref().map(read_ranges).transpose()?;
    let (model, done) = work(loaded, args, &table, known, (to, budget), out)?;
    loaded.model = model;
    progress.aside(|| describe(&done, to, args, out));
    Ok(item(&done, to))
}

fn work(
    loaded: &Loaded,
    args: &QuantizeArgs,
    table: &Quantization,
    known: Option<Ranges>,
    (to, budget): (ElemType, Option<f64>),
    out: &mut Out,
) -> Result<(onnx_ir::Model, Done), Failure> {
    let calibration = &args.calibration;
    let registry = documents::registry_with_onnxruntime(&[])?;
    let source = loaded.source()?;
    let except = Context::new(loaded)?.nodes(&loaded.model, &args.except)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let execution: Execution = loaded.execution.clone().with_seed(calibration.seed.unwrap_or_default());
    let options = StaticOptions::new(table)
        .with_weights(args.weight_type.as_deref().map(elem).transpose()?)
        .with_per_channel(args.per_channel)
        .with_symmetric(args.symmetric)
        .with_except(&except)
        .with_registry(&registry)
        .with_data(&source)
        .with_execution(execution.clone())
        .with_threads(threads);
    let settings = MeasureOptions::default()
        .with_registry(&registry)
        .with_data(&source)
        .with_execution(execution)
        .with_threads(threads);
    let files = calibration.calibrate.as_deref().map(|path| FileSamples::find(loaded, path)).transpose()?;
    let count = if calibration.seed.is_some() { calibration.samples.unwrap_or(GENERATED) } else { 0 };
    let generated = GeneratedSamples::new(&loaded.model, count, &settings);
    let samples: &dyn Samples = match &files {
        Some(files) => files,
        None => &generated,
    };
    let mut ranges = known.unwrap_or_default();
    if files.is_some() || calibration.seed.is_some() {
        ranges.complete(&calibrate(&loaded.model, to, method(args), samples, &options)?);
    }
    let mut result = loaded.model.clone();
    let budget = budget.map(|snr| Budget { snr, samples });
    let report = quantize_static(&mut result, to, &ranges, budget, &options)?;
    let form = match args.form {
        QuantizedForm::Qdq => None,
        QuantizedForm::Operator => Some(use_operators(&mut result, table, &registry, &source)?),
    };
    let measured = match budget {
        Some(_) => Some(Ok(report.outputs.clone())),
        None if args.measure => Some(measure_on(&loaded.model, &result, samples, &settings)),
        None => None,
    };
    let values = args.losses.then(|| losses(&loaded.model, to, &ranges, samples, &options)).transpose()?;
    loaded.execution.interrupt.check()?;
    save_ranges(loaded, args, &ranges, out)?;
    let bytes = (weight_bytes(&loaded.model), weight_bytes(&result));
    let (ranges, samples) = (ranges.iter().len(), samples.count());
    Ok((result, Done { report, form, ranges, samples, losses: values.unwrap_or_default(), measured, bytes }))
}

/// Writes the ranges, if the arguments name a file.
fn save_ranges(loaded: &Loaded, args: &QuantizeArgs, ranges: &Ranges, out: &Out) -> Result<(), Failure> {
    let Some(path) = args.calibration.save_ranges.as_ref().filter(|_| !args.output.dry_run) else {
        return Ok(());
    };
    let options = store::options(args.output.write, loaded.files()?);
    let text = ranges.to_text();
    write_file(path, FileKind::Json, &options, |file| file.write_all(text.as_bytes()))?;
    out.summary(&format!("wrote the ranges to {}", shown(&path.display().to_string())));
    Ok(())
}

/// Where the inputs of the runs are from.
const fn inputs(args: &QuantizeArgs) -> &'static str {
    match args.calibration.calibrate {
        Some(_) => "the inputs of the calibration",
        None => GENERATED_INPUTS,
    }
}

const fn method(args: &QuantizeArgs) -> Method {
    match args.calibration.method {
        CalibrationMethod::Minmax => Method::MinMax,
        CalibrationMethod::Percentile => Method::Percentile(args.calibration.percentile),
        CalibrationMethod::Entropy => Method::Entropy,
        CalibrationMethod::Mse => Method::Mse,
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

fn describe(done: &Done, to: ElemType, args: &QuantizeArgs, out: &Out) {
    let report = &done.report;
    let nodes: usize = report.quantized.iter().map(|(_, count)| count).sum();
    let stay = report.stay.len();
    out.summary(&format!(
        "{} of {} that could compute with {to}, {}, {}, {} -> {} bytes of weights",
        nodes,
        plural((nodes + stay) as u64, "node"),
        plural(report.pairs as u64, "pair"),
        plural(report.weights.len() as u64, "weight"),
        grouped(done.bytes.0),
        grouped(done.bytes.1)
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
        out.detail(2, &format!("{} of `{}`: {}", shown(op), shown(name), reason.text()));
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
    if let Some(measured) = &done.measured {
        out.details_of_summary(&format!("{}\n", error_line(measured, inputs(args))));
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

fn item(done: &Done, to: ElemType) -> Value {
    let number = |number: f64| if number.is_finite() { json!(number) } else { Value::Null };
    let report = &done.report;
    let nodes: Vec<Value> =
        report.quantized.iter().map(|(op, count)| json!({ "op": op, "nodes": count })).collect();
    let stay: Vec<Value> = report
        .stay
        .iter()
        .map(|(op, name, reason)| json!({ "op": op, "output": name, "reason": reason.text() }))
        .collect();
    let values: Vec<Value> = report
        .parameters
        .iter()
        .map(|(name, scale, zero)| {
            let loss = done.losses.iter().find(|value| value.name == *name);
            json!({
                "name": name,
                "scale": scale,
                "zero_point": zero,
                "max_error": loss.map(|value| number(value.max_error)),
                "snr": loss.map(|value| number(value.snr)),
            })
        })
        .collect();
    let measured = done.measured.as_ref();
    json!({
        "to": to.to_string(),
        "quantized": nodes,
        "stay": stay,
        "pairs": report.pairs,
        "folded": report.folded,
        "biases": report.biases,
        "values": values,
        "weights": weights_item(&report.weights),
        "ranges": done.ranges,
        "samples": done.samples,
        "bytes": { "before": done.bytes.0, "after": done.bytes.1 },
        "runs": report.runs,
        "outputs": measured.and_then(|found| found.as_ref().ok()).map(|found| outputs_item(found)).unwrap_or_default(),
        "not_measured": measured.and_then(|found| found.as_ref().err()),
    })
}
