//! `onnx compare --inner --all`: a row for each pair of values.

use std::collections::HashMap;
use std::fmt::Write as _;

use onnx_eval::compare::{Compared, Difference, Similarity};
use serde_json::{Value as Json, json};

use super::Run;
use crate::exit::Failure;
use crate::output::{BAD, DIM, HEADING, paint, shown};
use crate::run::number;
use crate::size::grouped;

/// The worst pair of values of a name over all runs.
struct Row<'a> {
    worst: &'a Compared,
    order: usize,
}

/// A row for each value of the second model, the least similar ones first: of several runs, the one in which the values are least
/// similar.
pub(super) fn text(runs: &[Run]) -> Result<String, Failure> {
    let mut rows: HashMap<&str, Row<'_>> = HashMap::new();
    for comparison in runs.iter().filter_map(|run| run.result.as_ref().ok()) {
        for compared in &comparison.inner {
            let order = rows.len();
            let row = rows.entry(&compared.name).or_insert(Row { worst: compared, order });
            if badness(compared) > badness(row.worst) {
                row.worst = compared;
            }
        }
    }
    let mut rows: Vec<Row<'_>> = rows.into_values().collect();
    rows.sort_by(|a, b| badness(b.worst).total_cmp(&badness(a.worst)).then(a.order.cmp(&b.order)));
    let mut text = String::new();
    let heading = format!(
        "{:>10} {:>10} {:>12} {:>8} {:>8}  value",
        "absolute", "relative", "ulps", "cosine", "SNR dB"
    );
    writeln!(text, "{}", paint(HEADING, heading))?;
    for Row { worst, .. } in &rows {
        let Compared { difference, similarity, name, ty, ty_in_b, .. } = worst;
        let name = shown(name);
        let ty = match ty_in_b {
            Some(other) => format!("{ty}, {other}"),
            None => ty.clone(),
        };
        if let Some(mismatch) = &difference.mismatch {
            writeln!(text, "{:>52}  {name}  {}", paint(BAD, "differs"), shown(mismatch))?;
            continue;
        }
        let style = if difference.agrees() { DIM } else { BAD };
        let (numbers, count) = match similarity {
            Some(similarity) => (numbers(difference, similarity), not_finite(similarity)),
            None => texts(difference),
        };
        writeln!(text, "{}  {name}  {}{count}", paint(style, numbers), shown(&ty))?;
    }
    Ok(text)
}

/// The columns of numbers.
fn numbers(difference: &Difference, similarity: &Similarity) -> String {
    let cosine = similarity.cosine.map_or("-".to_owned(), |cosine| format!("{cosine:.5}"));
    let ratio = similarity.signal_to_noise.map_or("-".to_owned(), decibels);
    format!(
        "{:>10} {:>10} {:>12} {cosine:>8} {ratio:>8}",
        number(difference.max_abs),
        number(difference.max_rel),
        grouped(difference.max_ulps),
    )
}

/// How many elements are equal without being numbers.
fn not_finite(similarity: &Similarity) -> String {
    match similarity.equal_not_finite {
        0 => String::new(),
        count => format!("  {} equal and not finite", grouped(count)),
    }
}

/// The columns of values that are not numbers, such as masks, and how many elements differ.
fn texts(difference: &Difference) -> (String, String) {
    let (equal, count) = match difference.differing {
        0 => ("equal", String::new()),
        count => ("-", format!("  {} of {} elements differ", grouped(count), grouped(difference.elements))),
    };
    (format!("{:>10} {:>10} {:>12} {:>8} {equal:>8}", "-", "-", "-", "-"), count)
}

fn decibels(ratio: f64) -> String {
    if ratio.is_infinite() { "equal".to_owned() } else { format!("{ratio:.1}") }
}

/// Greater for values that are less similar: minus the ratio of signal to noise; of values that are not numbers, the share of the
/// elements that differ, in decibels.
fn badness(compared: &Compared) -> f64 {
    let difference = &compared.difference;
    if difference.mismatch.is_some() {
        return f64::INFINITY;
    }
    if compared.similarity.is_none() && difference.differing > 0 {
        return 10.0 * (difference.differing as f64 / difference.elements.max(1) as f64).log10();
    }
    match compared.similarity.and_then(|similarity| similarity.signal_to_noise) {
        Some(ratio) => -ratio,
        // The first value is zero, or an element is not a finite number.
        None if compared.difference.exceeding > 0 => f64::MAX,
        None => f64::MIN,
    }
}

/// The measures of a pair as JSON; an infinite ratio is a string, as numbers of models are.
pub(super) fn item(similarity: Option<&Similarity>) -> Json {
    let ratio = similarity.and_then(|one| one.signal_to_noise).map(|ratio| match ratio.is_finite() {
        true => json!(ratio),
        false => json!("Infinity"),
    });
    json!({
        "cosine": similarity.and_then(|one| one.cosine),
        "signal_to_noise": ratio,
        "equal_not_finite": similarity.map_or(0, |one| one.equal_not_finite),
    })
}
