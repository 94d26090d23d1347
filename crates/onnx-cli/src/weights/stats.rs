//! `onnx weights stats`: extremes, mean, distribution and anomalies.

use std::cmp::Reverse;
use std::fmt::Write as _;

use onnx_eval::{Extremum, Statistics};
use onnx_select::Selectors;
use onnx_weights::{Anomaly, Weight, anomalies, anomaly_order};
use serde_json::{Value, json};

use super::list::MOST_LINES;
use super::verbs::{chosen, facts, loaded, report, require_elements, ty};
use crate::args::{Order, StatsArgs};
use crate::exit::{Failure, Outcome};
use crate::output::{DIM, HEADING, KEY, Out, WARN, paint, shown};
use crate::run::{as_failure, number};
use crate::size::{bytes, count, grouped, plural};
use crate::wrap;

/// Weights with a histogram; more are compared in a list.
const MOST_HISTOGRAMS: usize = 3;

pub(super) fn run(args: &StatsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let loaded = loaded(&args.chosen, out)?;
    let weights = chosen(&loaded.model, &args.chosen.at)?;
    require_elements(&weights)?;
    let source = loaded.source()?;
    let mut found = Vec::with_capacity(weights.len());
    for weight in &weights {
        let statistics = Statistics::read(weight.tensor, &source, &loaded.execution.interrupt);
        let statistics =
            statistics.map_err(as_failure).map_err(|failure| failure.about(&shown(&weight.name)))?;
        found.push((weight, statistics));
    }
    match args.sort {
        Order::Size => found.sort_by_key(|(weight, _)| Reverse(weight.bytes())),
        Order::Anomaly => found.sort_by(|(_, a), (_, b)| anomaly_order(a, b)),
        Order::Model => {}
    }
    let total = found.iter().fold(Statistics::default(), |sum, (_, statistics)| sum.and(statistics));
    if out.is_for_people() {
        out.text(&wrap::for_terminal(&page(&loaded.name, &found, &total, args)?))?;
        return report(&loaded, "weights-stats/1", Value::Null, out).map(|()| Outcome::Fine);
    }
    let selectors = Selectors::new(&loaded.model);
    let items: Vec<Value> = found
        .iter()
        .map(|(weight, statistics)| {
            let mut item = facts(&selectors, weight);
            if let Some(fields) = item.as_object_mut() {
                fields.insert("stats".to_owned(), object(statistics));
                let names: Vec<&str> = anomalies(statistics).into_iter().map(Anomaly::name).collect();
                fields.insert("anomalies".to_owned(), json!(names));
            }
            item
        })
        .collect();
    let item = json!({ "total": object(&total), "weights": items });
    report(&loaded, "weights-stats/1", item, out)?;
    Ok(Outcome::Fine)
}

/// Statistics, as JSON.
fn object(found: &Statistics) -> Value {
    let histogram = found.histogram.as_ref().map(|histogram| histogram.counts.to_vec());
    json!({
        "elements": found.elements,
        "bytes": found.bytes,
        "min": found.min.map(extremum),
        "max": found.max.map(extremum),
        "mean": found.mean,
        "deviation": found.deviation,
        "nans": found.nans,
        "infinities": found.infinities,
        "zeros": found.zeros,
        "subnormal": found.subnormal,
        "histogram": histogram,
    })
}

/// A number; an integer that a reader of JSON may round is a text.
fn extremum(found: Extremum) -> Value {
    match found {
        Extremum::Int(number) => match i64::try_from(number) {
            Ok(exact) if exact.unsigned_abs() <= 1 << 53 => json!(exact),
            _ => json!(number.to_string()),
        },
        other => json!(other.to_f64()),
    }
}

fn extremum_text(found: Extremum) -> String {
    match found {
        Extremum::Int(number) => number.to_string(),
        other => number(other.to_f64()),
    }
}

fn page(
    name: &str,
    found: &[(&Weight<'_>, Statistics)],
    total: &Statistics,
    args: &StatsArgs,
) -> Result<String, Failure> {
    let mut page = String::new();
    let size = format!("{}, {}", plural(found.len() as u64, "tensor"), bytes(total.bytes));
    writeln!(page, "{}  {}", paint(HEADING, shown(name)), paint(DIM, size))?;
    writeln!(page, "  {} {}", paint(KEY, format_args!("{:<40}", "all")), line(total))?;
    let most = if args.all { usize::MAX } else { MOST_LINES };
    for (weight, statistics) in found.iter().take(most) {
        let name = paint(KEY, format_args!("{:<40}", shown(&weight.name))).to_string();
        let odd = anomalies(statistics);
        let odd: Vec<String> = odd.into_iter().map(anomaly).collect();
        let odd = if odd.is_empty() { String::new() } else { format!("  {}", odd.join(", ")) };
        writeln!(
            page,
            "  {name} {}  {}{}",
            line(statistics),
            paint(DIM, ty(weight.tensor)),
            paint(WARN, odd)
        )?;
        if found.len() <= MOST_HISTOGRAMS {
            page.push_str(&histogram(statistics)?);
        }
    }
    if let Some(more) = found.len().checked_sub(most).filter(|&more| more > 0) {
        let text = format!("… and {} more (--all shows them)", grouped(more as u64));
        writeln!(page, "  {}", paint(DIM, text))?;
    }
    Ok(page)
}

/// Statistics in a line.
fn line(found: &Statistics) -> String {
    let mut parts = vec![format!("{:>9} elements", count(found.elements))];
    if let (Some(min), Some(max)) = (found.min, found.max) {
        let mean = found.mean.map_or_else(|| "?".to_owned(), number);
        let deviation = found.deviation.map(|deviation| format!(" ± {}", number(deviation)));
        let deviation = deviation.unwrap_or_default();
        parts.push(format!("min {}, mean {mean}{deviation}, max {}", extremum_text(min), extremum_text(max)));
    }
    for (tally, what) in [(found.nans, "NaN"), (found.infinities, "infinite"), (found.zeros, "zero")] {
        if tally > 0 {
            parts.push(format!("{} {what}", grouped(tally)));
        }
    }
    parts.join(", ")
}

fn anomaly(found: Anomaly) -> String {
    match found {
        Anomaly::Outlier(distance) => format!("an element is {} deviations away", number(distance.round())),
        Anomaly::Subnormal(part) => format!("{:.0} % subnormal", part * 100.0),
        other => other.name().replace('-', " "),
    }
}

/// The intervals, with bars.
fn histogram(found: &Statistics) -> Result<String, Failure> {
    const WIDTH: u128 = 40;
    let mut text = String::new();
    let (Some(histogram), Some(min), Some(max)) = (&found.histogram, found.min, found.max) else {
        return Ok(text);
    };
    let (min, max) = (min.to_f64(), max.to_f64());
    if min >= max {
        return Ok(text);
    }
    let most = histogram.counts.iter().copied().max().unwrap_or_default().max(1);
    let bins = histogram.counts.len();
    for (index, &tally) in histogram.counts.iter().enumerate() {
        let part = index as f64 / bins as f64;
        let from = min * (1.0 - part) + max * part;
        let bar = (u128::from(tally) * WIDTH).div_ceil(u128::from(most));
        let bar: String = std::iter::repeat_n('█', usize::try_from(bar).unwrap_or_default()).collect();
        writeln!(text, "    {:>12}  {bar} {}", number(from), paint(DIM, grouped(tally)))?;
    }
    Ok(text)
}
