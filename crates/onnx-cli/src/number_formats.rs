//! Number formats: `onnx convert --float16`, `--bfloat16`, `--float32` and `--dequantize`.

use std::collections::{BTreeMap, HashSet};

use onnx_ir::NodeId;
use onnx_quantize::{
    DequantizeError, DequantizeOptions, Dequantized, Effect, Half, MeasureOptions, MeasuredOutput,
    NarrowOptions, Narrowed, RoundedTensor, dequantize, measure, narrow, weight_bytes, widen,
};
use onnx_schema::Registry;
use onnx_types::ElemType;
use serde_json::{Value, json};

use crate::args::NumberFormatArgs;
use crate::exit::{Failure, LibraryError};
use crate::input::Loaded;
use crate::json::JsonText;
use crate::not_narrowed;
use crate::output::{Out, shown};
use crate::selection::Context;
use crate::size::{grouped, plural};

impl LibraryError for DequantizeError {}

/// Refuses options that would have no effect.
fn refuse_idle(args: &NumberFormatArgs) -> Result<(), Failure> {
    let of_half = [
        (args.keep_io, "--keep-io"),
        (!args.only.is_empty(), "--only"),
        (!args.except.is_empty(), "--except"),
        (args.without_run, "--without-run"),
        (args.seed.is_some(), "--seed"),
    ];
    if args.dequantize
        && let Some((_, option)) = of_half.into_iter().find(|(is_given, _)| *is_given)
    {
        return Err(Failure::new(format_args!("`{option}` is not for `--dequantize`"))
            .help("leave it out: it is for `--float16`, `--bfloat16` and `--float32`"));
    }
    if args.without_run && args.seed.is_some() {
        return Err(Failure::new("`--seed` is not for `--without-run`: no inputs are generated")
            .help("leave one of them out"));
    }
    Ok(())
}

/// Changes the number format of a model. Returns what was done, for programs.
pub(crate) fn convert(
    loaded: &mut Loaded,
    args: &NumberFormatArgs,
    registry: &Registry,
    out: &Out,
) -> Result<Value, Failure> {
    refuse_idle(args)?;
    let context = Context::new(loaded)?;
    let source = loaded.source()?;
    let execution = loaded.execution.clone().with_seed(args.seed.unwrap_or_default());
    if args.dequantize {
        let options =
            DequantizeOptions::default().with_registry(registry).with_data(&source).with_execution(execution);
        let done = dequantize(&mut loaded.model, &options)?;
        describe_floats(&done, out);
        return Ok(
            json!({ "weights": done.weights, "pairs": done.pairs, "limits": done.limits, "left": done.left.len() }),
        );
    }
    let half = match (args.float32, args.bfloat16) {
        (true, _) => None,
        (_, true) => Some(Half::Bfloat16),
        _ => Some(Half::Float16),
    };
    let except = context.nodes(&loaded.model, &args.except)?;
    let only: HashSet<NodeId> = context.nodes(&loaded.model, &args.only)?.into_iter().collect();
    let options = NarrowOptions::default()
        .with_keep_io(args.keep_io)
        .with_only((!args.only.is_empty()).then_some(&only))
        .with_except(&except)
        .with_run(!args.without_run)
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution.clone());
    let before = loaded.model.clone();
    let done = match half {
        Some(half) => narrow(&mut loaded.model, half, &options),
        None => widen(&mut loaded.model, &options),
    };
    let is_selected = !(args.only.is_empty() && args.except.is_empty());
    let done = done.map_err(|error| not_narrowed::failure(&loaded.model, error, &options, is_selected))?;
    let settings =
        MeasureOptions::default().with_registry(registry).with_data(&source).with_execution(execution);
    let measured = match args.without_run {
        true => Err("`--without-run` is given".to_owned()),
        false => measure(&before, &loaded.model, &settings),
    };
    loaded.execution.interrupt.check()?;
    let effect = Effect::new((weight_bytes(&before), weight_bytes(&loaded.model)), Some(measured));
    describe(&done, half, &effect, out);
    Ok(done.to_json(half.map_or(ElemType::Float, Half::elem), &effect))
}

/// The smallest ratio of signal to noise and the largest error.
pub(crate) fn worst(measured: &[MeasuredOutput]) -> Option<(&MeasuredOutput, f64)> {
    let worst = measured.iter().min_by(|a, b| a.snr.total_cmp(&b.snr))?;
    Some((worst, measured.iter().map(|output| output.max_error).fold(0.0, f64::max)))
}

/// The inputs of a measurement, in a sentence.
pub(crate) const GENERATED_INPUTS: &str = "generated inputs";

/// The line about the error of the outputs on some inputs.
pub(crate) fn error_line(measured: &Result<Vec<MeasuredOutput>, String>, inputs: &str) -> String {
    let measured = match measured {
        Ok(measured) => measured,
        Err(reason) => return format!("the error of the outputs is not measured: {reason}"),
    };
    let not_finite: u64 = measured.iter().map(|output| output.not_finite).sum();
    let mut line = match worst(measured) {
        None => "no output has numbers".to_owned(),
        Some((output, _)) if output.snr.is_infinite() && not_finite == 0 => {
            format!("the outputs are equal on {inputs}")
        }
        Some((output, max_error)) => format!(
            "measured on {inputs}: `{}` has the least ratio of signal to noise, {:.1} dB; the largest error is {max_error:.2e}",
            shown(&output.name),
            output.snr
        ),
    };
    if not_finite > 0 {
        line.push_str(&format!("; {} finite in one model only", plural(not_finite, "element")));
    }
    line
}

/// Tells what was done; without a format, numbers became `float`.
fn describe(done: &Narrowed, half: Option<Half>, effect: &Effect, out: &Out) {
    let (before, after) = effect.bytes;
    let removed = match done.removed_casts {
        0 => String::new(),
        count => format!(" and {} removed", grouped(count as u64)),
    };
    out.summary(&format!(
        "{} in {}, {} added{removed}, {} -> {} bytes of weights",
        plural(done.nodes as u64, "node"),
        half.map_or(ElemType::Float, Half::elem),
        plural(done.casts as u64, "cast"),
        grouped(before),
        grouped(after)
    ));
    for (op, reason, count) in done.wide_by_operator() {
        out.details_of_summary(&format!("{count:>9} stay  {}: {reason}\n", shown(op)));
    }
    for (name, number) in &done.out_of_range {
        out.detail(1, &format!("out of range: {} has {number:e}", shown(name)));
    }
    if let Some(half) = half {
        done.tensors.iter().for_each(|tensor| describe_losses(tensor, half, out));
    }
    let count =
        done.tensors.iter().filter(|tensor| tensor.losses.zeros + tensor.losses.subnormal > 0).count();
    if count > 0 {
        out.details_of_summary(&format!(
            "{count:>9} weights have elements that become zero or subnormal (-v lists them)\n"
        ));
    }
    if let Some(reason) = &done.not_run {
        out.warning(&format!("the range of the numbers is not known: {reason}"), None);
    }
    if let Some(measured) = &effect.measured {
        out.details_of_summary(&format!("{}\n", error_line(measured, GENERATED_INPUTS)));
    }
}

/// Tells what is lost in a constant.
fn describe_losses(tensor: &RoundedTensor, half: Half, out: &Out) {
    let losses = &tensor.losses;
    let name = shown(&tensor.name);
    if losses.is_mask {
        let limit = half.max().copysign(losses.worst.unwrap_or(1.0));
        out.details_of_summary(&format!("     mask  {name}: {} become {limit:e}\n", losses.saturated));
    }
    if losses.is_kept_positive {
        out.details_of_summary(&format!(
            "    small  {name}: becomes the least positive number {:e}\n",
            half.tiny()
        ));
    }
    if losses.zeros + losses.subnormal > 0 {
        let text = format!(
            "{name}: of {} elements, {} become zero and {} subnormal",
            losses.elements, losses.zeros, losses.subnormal
        );
        out.detail(1, &text);
    }
}

fn describe_floats(done: &Dequantized, out: &Out) {
    out.summary(&format!(
        "{} made floats, {} removed",
        plural(done.weights as u64, "weight"),
        plural(done.pairs as u64, "pair")
    ));
    if done.limits > 0 {
        out.details_of_summary(&format!(
            "{:>9} became  Clip: the range of the pair limited the value\n",
            done.limits
        ));
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (op, _) in &done.left {
        *left.entry(op).or_default() += 1;
    }
    for (op, count) in left {
        out.details_of_summary(&format!("{count:>9} stay  {}: computes with quantized numbers\n", shown(op)));
    }
}

/// Adds what was done to the report.
pub(crate) fn report(
    loaded: &Loaded,
    kind: &'static str,
    done: &Value,
    out: &mut Out,
) -> Result<(), Failure> {
    if out.is_for_people() {
        return out.input(loaded, loaded.findings.clone());
    }
    out.result_kind(kind, "models");
    let mut item = json!({ "name": loaded.name });
    if let (Some(item), Some(done)) = (item.as_object_mut(), done.as_object()) {
        item.extend(done.clone());
    }
    let items = vec![JsonText::of(&item)?];
    let findings = loaded.findings.clone();
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, items)
}
