//! A value as text and as JSON.

use std::fmt::Write as _;

use onnx_eval::{Extremum, MapKey, Statistics, Value};
use onnx_types::tensor::{Complex, NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Interrupt};
use serde_json::{Value as Json, json};

use super::as_failure;
use super::stats::{Entry, Stats};
use crate::exit::Failure;
use crate::output::{DIM, HEADING, KEY, paint, shown};
use crate::size;

/// Elements of a tensor, and values of a sequence or map, that are shown.
const MOST: usize = 6;

/// Text of a value under its name, in lines.
pub(super) fn text(name: &str, value: &Value, interrupt: &Interrupt) -> Result<String, Failure> {
    let mut text = String::new();
    let mut open = vec![(shown(name), value)];
    while let Some((name, value)) = open.pop() {
        writeln!(text, "{}  {}", paint(HEADING, &name), paint(KEY, value.describe()))?;
        match value {
            Value::Tensor(tensor) => text.push_str(&tensor_text(tensor, interrupt)?),
            Value::Optional(inner) => {
                open.extend(inner.as_deref().map(|inner| (format!("{name}.value"), inner)));
            }
            Value::Sequence(items) => {
                let items = items.iter().enumerate().take(MOST);
                let first: Vec<_> = items.map(|(index, item)| (format!("{name}[{index}]"), item)).collect();
                open.extend(first.into_iter().rev());
            }
            Value::Map(entries) => {
                let entries = entries.iter().take(MOST);
                let first: Vec<_> =
                    entries.map(|(key, value)| (format!("{name}[{}]", key_text(key)), value)).collect();
                open.extend(first.into_iter().rev());
            }
        }
    }
    Ok(text)
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Int(key) => key.to_string(),
        MapKey::Text(key) => shown(&String::from_utf8_lossy(key)),
    }
}

fn tensor_text(tensor: &Tensor, interrupt: &Interrupt) -> Result<String, Failure> {
    let statistics = statistics(tensor, interrupt)?;
    let mut words = words(tensor, MOST)?;
    if statistics.elements > words.len() as u64 {
        words.push("…".to_owned());
    }
    let mut text = format!("  {}\n", words.join(", "));
    let mut facts = Vec::new();
    if let (Some(min), Some(mean), Some(max)) = (statistics.min, statistics.mean, statistics.max)
        && statistics.elements > 1
    {
        facts.push(format!(
            "min {}, mean {}, max {}",
            number(min.to_f64()),
            number(mean),
            number(max.to_f64())
        ));
    }
    if statistics.nans > 0 {
        facts.push(format!("{} NaN", size::grouped(statistics.nans)));
    }
    if statistics.infinities > 0 {
        facts.push(format!("{} infinite", size::grouped(statistics.infinities)));
    }
    if !facts.is_empty() {
        writeln!(text, "  {}", paint(DIM, facts.join(", ")))?;
    }
    Ok(text)
}

/// The first elements of a tensor, as text.
pub(crate) fn words(tensor: &Tensor, most: usize) -> Result<Vec<String>, Failure> {
    let word = |element: &Json| match element {
        Json::String(text) if tensor.elem() == ElemType::String => format!("{text:?}"),
        Json::String(text) => text.clone(),
        other => {
            other.as_f64().filter(|_| tensor.elem().is_float()).map_or_else(|| other.to_string(), number)
        }
    };
    Ok(elements(tensor, most)?.iter().map(word).collect())
}

/// The statistics of a tensor; strings and complex numbers have no extremes and no mean.
fn statistics(tensor: &Tensor, interrupt: &Interrupt) -> Result<Statistics, Failure> {
    let mut found = Statistics::of(tensor, interrupt).map_err(as_failure)?;
    if matches!(tensor.elem().class(), ElemClass::String | ElemClass::Complex) {
        (found.min, found.mean, found.max) = (None, None, None);
    }
    Ok(found)
}

/// A number with at most six significant digits.
pub(crate) fn number(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    if !(1e-4..1e6).contains(&magnitude) {
        return format!("{number:.5e}");
    }
    let before = if magnitude >= 1.0 { magnitude.log10().floor() as usize + 1 } else { 0 };
    let text = format!("{number:.*}", 6_usize.saturating_sub(before));
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// The first elements, as JSON: numbers, `true` and `false`, and texts for strings, complex numbers and what is not finite.
pub(crate) fn elements(tensor: &Tensor, most: usize) -> Result<Vec<Json>, Failure> {
    let float = |number: f64| match number {
        _ if number.is_nan() => json!("NaN"),
        _ if number.is_infinite() => json!(if number > 0.0 { "inf" } else { "-inf" }),
        _ => json!(number),
    };
    // What is shown of a float is the shortest text of the number in its type.
    let single = |number: f32| number.to_string().parse().map_or_else(|_| float(number.into()), float);
    Ok(match (tensor.elem(), tensor.elem().class()) {
        (_, ElemClass::String) => {
            let texts = tensor.string_bytes().map_err(unreadable)?.iter().take(most);
            texts.map(|text| json!(String::from_utf8_lossy(text))).collect()
        }
        (ElemType::Bool, _) => {
            let view = tensor.view::<bool>(&NoData).map_err(unreadable)?;
            view.iter().take(most).map(|element| json!(element)).collect()
        }
        (ElemType::Uint64, _) => {
            let view = tensor.view::<u64>(&NoData).map_err(unreadable)?;
            view.iter().take(most).map(|element| json!(element)).collect()
        }
        (ElemType::Float, _) => {
            let view = tensor.view::<f32>(&NoData).map_err(unreadable)?;
            view.iter().take(most).map(single).collect()
        }
        (ElemType::Complex64, _) => {
            let view = tensor.view::<Complex<f32>>(&NoData).map_err(unreadable)?;
            view.iter().take(most).map(|element| json!(element.to_string())).collect()
        }
        (ElemType::Complex128, _) => {
            let view = tensor.view::<Complex<f64>>(&NoData).map_err(unreadable)?;
            view.iter().take(most).map(|element| json!(element.to_string())).collect()
        }
        (elem, _) if elem.is_float() => {
            tensor.iter_f64(&NoData).map_err(unreadable)?.take(most).map(float).collect()
        }
        _ => tensor.iter_i64(&NoData).map_err(unreadable)?.take(most).map(|n| json!(n)).collect(),
    })
}

/// Elements that cannot be read.
pub(super) fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(error).help(
        "the elements are in another file, or not valid: `onnx check --data MODEL` reports what is wrong",
    )
}

/// A value as JSON. Of sequences and maps, the values of the first level are listed, at most six.
pub(super) fn object(name: &str, value: &Value, interrupt: &Interrupt) -> Result<Json, Failure> {
    let mut items = Vec::new();
    match value {
        Value::Sequence(list) => {
            for (index, item) in list.iter().enumerate().take(MOST) {
                items.push(flat(&format!("[{index}]"), item, interrupt)?);
            }
        }
        Value::Map(entries) => {
            for (key, item) in entries.iter().take(MOST) {
                items.push(flat(&key_text(key), item, interrupt)?);
            }
        }
        Value::Optional(Some(inner)) => items.push(flat("value", inner, interrupt)?),
        Value::Tensor(_) | Value::Optional(None) => {}
    }
    let mut object = flat(name, value, interrupt)?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("items".to_owned(), Json::Array(items));
    }
    Ok(object)
}

fn flat(name: &str, value: &Value, interrupt: &Interrupt) -> Result<Json, Failure> {
    let Some(tensor) = value.tensor() else {
        return Ok(json!({ "name": name, "type": value.describe(), "tensor": null }));
    };
    let statistics = statistics(tensor, interrupt)?;
    Ok(json!({
        "name": name,
        "type": value.describe(),
        "tensor": {
            "elem": tensor.elem().to_string(),
            "shape": tensor.dims(),
            "elements": elements(tensor, MOST)?,
            "min": statistics.min.map(Extremum::to_f64),
            "mean": statistics.mean,
            "max": statistics.max.map(Extremum::to_f64),
            "nans": statistics.nans,
            "infinities": statistics.infinities,
        },
    }))
}

/// Operators that are shown.
const OPERATORS: usize = 12;

/// The sums by operator, and the two lists of nodes.
pub(super) fn stats(stats: &Stats) -> Result<String, Failure> {
    let mut text = String::new();
    let line = |text: &mut String, first: String, second: String, entry: &Entry| {
        let runs = if entry.runs > 1 { format!("  {} runs", entry.runs) } else { String::new() };
        let (op, node) = (shown(&entry.op), shown(&entry.node));
        writeln!(text, "  {first:>10} {second:>9}  {}  {node}{}", paint(KEY, op), paint(DIM, runs))
    };
    let share = |seconds: f64| format!("{:.1} %", 100.0 * seconds / stats.seconds.max(f64::MIN_POSITIVE));
    writeln!(text, "{}  {} in total", paint(HEADING, "run time by operator"), time(stats.seconds))?;
    for sum in stats.operators.iter().take(OPERATORS) {
        let (nodes, op) = (size::plural(sum.nodes as u64, "node"), shown(&sum.op));
        let (seconds, share) = (time(sum.seconds), share(sum.seconds));
        writeln!(text, "  {seconds:>10} {share:>9}  {}  {}", paint(KEY, op), paint(DIM, nodes))?;
    }
    if let Some(more) = stats.operators.len().checked_sub(OPERATORS).filter(|&more| more > 0) {
        writeln!(text, "  … and {} (`--format json` has all)", size::plural(more as u64, "other operator"))?;
    }
    writeln!(text, "{}", paint(HEADING, "longest run time"))?;
    for entry in &stats.time {
        line(&mut text, time(entry.seconds), share(entry.seconds), entry)?;
    }
    let peak = size::bytes(stats.peak_bytes);
    writeln!(text, "{}  {peak} of values at most, without weights", paint(HEADING, "largest memory"))?;
    for entry in &stats.memory {
        line(&mut text, size::bytes(entry.live_bytes), size::bytes(entry.output_bytes), entry)?;
    }
    Ok(text)
}

/// A time: `1.23 s`, `4.56 ms`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.2} s"),
        _ if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.0} µs", seconds * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (1_234.567_89, "1234.57"),
            (0.000_123_456_7, "0.000123"),
            (1.5e-5, "1.50000e-5"),
            (2e6, "2.00000e6"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
            (100_000.0, "100000"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
