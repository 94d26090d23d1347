//! Number formats: `onnx convert --float16`, `--bfloat16`, `--float32` and `--dequantize`.

use std::collections::{BTreeMap, HashSet};

use onnx_ir::NodeId;
use onnx_quantize::{
    DequantizeError, DequantizeOptions, Dequantized, Effect, Half, MeasureOptions, MeasuredOutput,
    NarrowOptions, Narrowed, RoundedTensor, dequantize, measure_on, narrow, weight_bytes, widen,
};
use onnx_schema::Registry;
use onnx_types::{ElemType, Execution};
use serde_json::{Value, json};

use crate::args::NumberFormatArgs;
use crate::exit::{Failure, LibraryError};
use crate::input::Loaded;
use crate::json::JsonText;
use crate::not_narrowed;
use crate::output::{Out, shown};
use crate::run::runs_of;
use crate::samples::{self, Inputs};
use crate::selection::Context;
use crate::size::{grouped, plural};
use crate::weights;

impl LibraryError for DequantizeError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }
}

/// Refuses options that would have no effect.
fn refuse_idle(args: &NumberFormatArgs) -> Result<(), Failure> {
    let of_half = [
        (args.keep_io, "--keep-io"),
        (!args.only.is_empty(), "--only"),
        (!args.except.is_empty(), "--except"),
        (args.without_run, "--without-run"),
        (args.seed.is_some(), "--seed"),
        (args.calibrate.is_some(), "--calibrate"),
        (!args.sizes.is_empty(), "--set"),
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

/// Makes quantized numbers floats again. Returns what was done, for programs.
fn to_floats(
    loaded: &mut Loaded,
    registry: &Registry,
    execution: Execution,
    out: &Out,
) -> Result<Value, Failure> {
    let source = loaded.source()?;
    let options =
        DequantizeOptions::default().with_registry(registry).with_data(&source).with_execution(execution);
    let before = weight_bytes(&loaded.model);
    let done = dequantize(&mut loaded.model, &options)?;
    let bytes = (before, weight_bytes(&loaded.model));
    let unchanged = describe_floats(&done, bytes, out);
    let left = done.left.iter().map(|(op, name)| json!({ "op": op, "result": name }));
    let left: Vec<Value> = left.collect();
    Ok(json!({
        "weights": done.weights,
        "pairs": done.pairs,
        "limits": done.limits,
        "operators": done.operators,
        "left": done.left.len(),
        "left_nodes": left,
        "bytes": { "before": bytes.0, "after": bytes.1 },
        "unchanged": unchanged,
    }))
}

/// Changes the number format of a model. Returns what was done, for programs.
pub(crate) fn convert(
    loaded: &mut Loaded,
    args: &NumberFormatArgs,
    registry: &Registry,
    out: &Out,
) -> Result<Value, Failure> {
    refuse_idle(args)?;
    weights::require_elements(loaded)?;
    let context = Context::new(loaded)?;
    let source = loaded.source()?;
    let execution = runs_of(&[loaded]).with_seed(args.seed.unwrap_or_default());
    if args.dequantize {
        return to_floats(loaded, registry, execution, out);
    }
    let half = match (args.float32, args.bfloat16) {
        (true, _) => None,
        (_, true) => Some(Half::Bfloat16),
        _ => Some(Half::Float16),
    };
    let except = context.nodes(&loaded.model, &args.except)?;
    let only: HashSet<NodeId> = context.nodes(&loaded.model, &args.only)?.into_iter().collect();
    let sizes = samples::sizes(loaded, &args.sizes, registry)?;
    let settings = MeasureOptions::default()
        .with_sizes(&sizes)
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution.clone());
    let inputs = Inputs::new(loaded, args.calibrate.as_deref(), (1, &settings))?;
    let options = NarrowOptions::default()
        .with_keep_io(args.keep_io)
        .with_only((!args.only.is_empty()).then_some(&only))
        .with_except(&except)
        .with_run(!args.without_run)
        .with_samples(Some(inputs.samples()))
        .with_registry(registry)
        .with_data(&source)
        .with_execution(execution);
    let mut result = loaded.model.clone();
    let done = match half {
        Some(half) => narrow(&mut result, half, &options),
        None => widen(&mut result, &options),
    };
    let is_selected = !(args.only.is_empty() && args.except.is_empty());
    let done = done.map_err(|error| not_narrowed::failure(&loaded.model, error, &options, is_selected))?;
    let to = half.map_or(ElemType::Float, Half::elem);
    if let Some(reason) = &done.unchanged {
        let help = not_narrowed::advice(&loaded.model, reason, &options, is_selected);
        out.warning(&reason.to_string(), Some(&help));
        let bytes = weight_bytes(&loaded.model);
        return Ok(done.to_json(to, &Effect::new((bytes, bytes), None)));
    }
    let measured = match args.without_run {
        true => Err("`--without-run` is given".to_owned()),
        false => measure_on(&loaded.model, &result, inputs.samples(), &settings),
    };
    loaded.execution.interrupt.check()?;
    let effect = Effect::new((weight_bytes(&loaded.model), weight_bytes(&result)), Some(measured))
        .with_generated(inputs.generated());
    describe(&done, half, &effect, args, out);
    warn_of_measurement(&effect, &inputs, out);
    loaded.model = result;
    Ok(done.to_json(to, &effect))
}

/// The output of floats with the least ratio of signal to noise.
pub(crate) fn worst(measured: &[MeasuredOutput]) -> Option<(&MeasuredOutput, f64)> {
    let ratios = measured.iter().filter_map(|output| Some((output, output.snr?)));
    ratios.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The line about the error of the outputs on some inputs: the ratio of floats, and how many integers differ.
pub(crate) fn error_line(measured: &Result<Vec<MeasuredOutput>, String>, inputs: &str) -> String {
    let measured = match measured {
        Ok(measured) => measured,
        Err(reason) => return format!("the error of the outputs is not measured: {reason}"),
    };
    if measured.is_empty() {
        return "no output has numbers".to_owned();
    }
    if measured.iter().all(|output| output.elements == 0) {
        return format!("not measured: the outputs have no elements on {inputs}");
    }
    let never = never_finite(measured);
    if measured.iter().all(|output| output.differing == 0) {
        return match never {
            Some(never) => format!("not measured on {inputs}: {never}"),
            None => format!("the outputs are equal on {inputs}"),
        };
    }
    let mut parts = Vec::new();
    match worst(measured) {
        None => {}
        Some((_, snr)) if snr.is_infinite() && snr > 0.0 => {
            parts.push("outputs of floats are equal".to_owned())
        }
        Some((output, snr)) => {
            let floats = measured.iter().filter(|output| output.snr.is_some());
            let max_error = floats.map(|output| output.max_error).fold(0.0, f64::max);
            let name = shown(&output.name);
            parts.push(format!("`{name}` has the least ratio of signal to noise, {snr:.1} dB"));
            parts.push(format!("the largest error is {max_error:.2e}"));
        }
    }
    parts.extend(differing(measured));
    let not_finite: u64 = measured.iter().map(|output| output.not_finite).sum();
    if not_finite > 0 {
        parts.push(format!("{} finite in one model only", plural(not_finite, "element")));
    }
    parts.extend(never);
    format!("measured on {inputs}: {}", parts.join("; "))
}

/// The outputs of floats of which nothing is finite, before and after.
fn never_finite(measured: &[MeasuredOutput]) -> Option<String> {
    let never: Vec<&MeasuredOutput> = measured.iter().filter(|output| output.is_never_finite()).collect();
    let first = shown(&never.first()?.name);
    Some(match never.len() - 1 {
        0 => format!("no number of `{first}` is finite, before and after"),
        more => {
            format!("no number of `{first}` and of {more} more is finite, before and after")
        }
    })
}

/// How many elements of outputs of integers differ: a ratio says nothing about indices.
fn differing(measured: &[MeasuredOutput]) -> Vec<String> {
    /// More outputs are counted.
    const MOST: usize = 3;
    let integers = measured.iter().filter(|output| output.is_exact && output.differing > 0);
    let integers: Vec<&MeasuredOutput> = integers.collect();
    let text = |output: &&MeasuredOutput| {
        let all = plural(output.elements, "element");
        format!("{} of {all} of `{}` differ", grouped(output.differing), shown(&output.name))
    };
    let mut parts: Vec<String> = integers.iter().take(MOST).map(text).collect();
    if let Some(more) = integers.len().checked_sub(MOST).filter(|&more| more > 0) {
        parts.push(format!("so do elements of {more} other outputs of integers"));
    }
    parts
}

/// Warns of outputs of which nothing is finite: nothing is known about their error.
pub(crate) fn warn_of_never_finite(effect: &Effect, out: &Out) {
    let Some(Ok(measured)) = &effect.measured else { return };
    let Some(never) = never_finite(measured) else { return };
    let help = "are the inputs finite? `onnx run MODEL` names the first node whose numbers are not; `--calibrate DIR` takes inputs of yours";
    out.warning(&format!("the error of the outputs is not known: {never}"), Some(help));
}

/// Warns if the measurement says little: of outputs of which nothing is finite, and of those that are far apart on generated inputs of
/// chosen sizes, as these say little about a network for images of another size.
pub(crate) fn warn_of_measurement(effect: &Effect, inputs: &Inputs<'_>, out: &Out) {
    /// Less signal than that is not what a format costs on inputs for which a model is made.
    const FAR: f64 = 20.0;
    warn_of_never_finite(effect, out);
    let (Some(Ok(measured)), Inputs::Generated(generated)) = (&effect.measured, inputs) else { return };
    let open = generated.open();
    let (Some((output, snr)), Some(first)) = (worst(measured), open.first()) else { return };
    if snr < FAR {
        out.warning(
            &format!(
                "`{}` is far apart, but the sizes of the inputs are chosen, as the model does not state `{}`",
                shown(&output.name),
                shown(first)
            ),
            Some(&format!(
                "`--calibrate DIR` measures on inputs of yours; `--set '{}=SIZE'` sets sizes of generated ones",
                shown(first)
            )),
        );
    }
}

/// Tells what was done; without a format, numbers became `float`.
fn describe(done: &Narrowed, half: Option<Half>, effect: &Effect, args: &NumberFormatArgs, out: &Out) {
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
        let mut nodes = done.wide.iter().filter(|wide| wide.op == op && wide.reason.text() == reason);
        let version = nodes.find_map(|wide| wide.version);
        let version = version.map(|version| format!(", version {version} does")).unwrap_or_default();
        out.details_of_summary(&format!("{count:>9} stay  {}: {reason}{version}\n", shown(op)));
    }
    for wide in &done.wide {
        out.detail(
            1,
            &format!("stays: {} of `{}`: {}", shown(&wide.op), shown(&wide.name), wide.reason.text()),
        );
    }
    for (name, number) in &done.out_of_range {
        out.detail(1, &format!("out of range: {} has {number:e}", shown(name)));
    }
    for (name, error) in &done.imprecise {
        out.detail(1, &format!("too small: {} would have a relative error of {error:.1e}", shown(name)));
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
        let inputs = samples::described(args.calibrate.is_some(), &effect.generated);
        out.details_of_summary(&format!("{}\n", error_line(measured, &inputs)));
        warn_of_infinities(measured, half, args, out);
    }
}

/// Warns of outputs that are not finite any more.
fn warn_of_infinities(
    measured: &Result<Vec<MeasuredOutput>, String>,
    half: Option<Half>,
    args: &NumberFormatArgs,
    out: &Out,
) {
    let (Ok(measured), Some(half)) = (measured, half) else { return };
    let Some(output) = measured.iter().find(|output| output.not_finite > 0) else { return };
    let help = match args.except.is_empty() {
        true => "`--except SELECTOR` leaves nodes in `float`; `onnx compare MODEL OUT` shows the first node that differs".to_owned(),
        false => "what takes the result of an excepted node gets a cast of it: `--except` the nodes behind it, too".to_owned(),
    };
    out.warning(
        &format!(
            "`{}` has {} that {} finite in one model only: a number is beyond {:e}, the greatest one of {}",
            shown(&output.name),
            plural(output.not_finite, "element"),
            if output.not_finite == 1 { "is" } else { "are" },
            half.max(),
            half.elem()
        ),
        Some(&help),
    );
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

/// Tells what was done. Returns why the model is unchanged, if it is.
fn describe_floats(done: &Dequantized, (before, after): (u64, u64), out: &Out) -> Option<&'static str> {
    if done.weights + done.pairs + done.operators == 0 {
        let reason = match done.left.is_empty() {
            true => "nothing in the model is quantized",
            false => "nothing in the model has a form of floats that is known to be equal",
        };
        let help = "`onnx info MODEL` lists the operators; `--float32` is for `float16` and `bfloat16`";
        out.warning(reason, Some(help));
        describe_left(done, out);
        return Some(reason);
    }
    out.summary(&format!(
        "{} made floats, {} removed, {} -> {} bytes of weights",
        plural(done.weights as u64, "weight"),
        plural(done.pairs as u64, "pair"),
        grouped(before),
        grouped(after)
    ));
    if done.limits > 0 {
        out.details_of_summary(&format!(
            "{:>9} became  Clip: the range of the pair limited the value\n",
            done.limits
        ));
    }
    if done.operators > 0 {
        out.details_of_summary(&format!("{:>9} became  operators of floats\n", done.operators));
    }
    describe_left(done, out);
    None
}

/// Tells what still computes with quantized numbers.
fn describe_left(done: &Dequantized, out: &Out) {
    let mut left: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (op, name) in &done.left {
        left.entry(op).or_default().push(name);
    }
    for (op, names) in &left {
        out.details_of_summary(&format!(
            "{:>9} stay  {}: computes with quantized numbers\n",
            names.len(),
            shown(op)
        ));
        names.iter().for_each(|name| out.detail(1, &format!("stays: {} of `{}`", shown(op), shown(name))));
    }
    if !left.is_empty() {
        let count = done.left.len() as u64;
        let operators: Vec<_> = left.keys().map(|op| shown(op)).collect();
        out.warning(
            &format!("{} with quantized numbers: {}", plural_stays(count), operators.join(", ")),
            Some("they have no form of floats that is known to be equal; `-v` names them"),
        );
    }
}

/// The beginning of a sentence about nodes that stay.
fn plural_stays(count: u64) -> String {
    format!("{} {}", plural(count, "node"), if count == 1 { "stays" } else { "stay" })
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
