//! Samples, what is made of them, and the bars they must meet.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Samples by the name of what was measured; times are in nanoseconds, sizes in bytes.
#[derive(Debug, Default, Clone)]
pub(super) struct Samples(pub(super) BTreeMap<String, Vec<f64>>);

impl Samples {
    /// Adds what a program printed: a JSON object of lists of numbers.
    pub(super) fn add(&mut self, printed: &str) -> Result<(), String> {
        let lists: BTreeMap<String, Vec<f64>> = serde_json::from_str(printed.trim())
            .map_err(|error| format!("a measuring program printed no samples: {error}"))?;
        for (name, list) in lists {
            self.0.entry(name).or_default().extend(list);
        }
        Ok(())
    }

    /// The median of the samples with this name.
    pub(super) fn median(&self, name: &str) -> Result<f64, String> {
        let samples = self.0.get(name).map(Vec::as_slice).unwrap_or_default();
        median(samples).ok_or_else(|| format!("there are no samples of `{name}`"))
    }

    /// The exponent by which the medians of `name/10000`, `name/100000`, … grow with the number.
    pub(super) fn exponent(&self, name: &str) -> Result<f64, String> {
        let prefix = format!("{name}/");
        let points: Vec<(f64, f64)> = self
            .0
            .iter()
            .filter_map(|(key, list)| {
                let size: f64 = key.strip_prefix(&prefix)?.parse().ok()?;
                Some((size.ln(), median(list)?.ln()))
            })
            .collect();
        slope(&points).ok_or_else(|| format!("there are not enough samples of `{name}`"))
    }
}

fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some((sorted[middle - 1] + upper) / 2.0) }
}

/// The slope of the straight line that fits best.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let joint: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (points.len() > 1 && spread > 0.0).then(|| joint / spread)
}

/// What a result must be.
#[derive(Clone, Copy)]
pub(super) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    /// No target; reported for comparison only.
    None,
}

/// One line of the table.
pub(super) struct Outcome {
    pub(super) group: &'static str,
    pub(super) what: String,
    /// Both sides as text, such as `1.2 ms / 0.9 ms`.
    pub(super) sides: String,
    pub(super) value: f64,
    pub(super) bar: Bar,
}

impl Outcome {
    /// The ratio of two medians of times in nanoseconds.
    pub(super) fn times(group: &'static str, what: String, ours: f64, theirs: f64, bar: Bar) -> Self {
        let sides = format!("{} / {}", time(ours), time(theirs));
        Self { group, what, sides, value: ours / theirs, bar }
    }

    /// A row without a result, which says why there is none.
    pub(super) fn without(group: &'static str, what: String, reason: &str) -> Self {
        Self { group, what, sides: reason.to_owned(), value: f64::NAN, bar: Bar::None }
    }

    fn passes(&self) -> Option<bool> {
        match self.bar {
            Bar::AtMost(most) => Some(self.value <= most),
            Bar::AtLeast(least) => Some(self.value >= least),
            Bar::None => None,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.passes() {
            Some(true) => "PASS",
            Some(false) => "MISS",
            None => "",
        }
    }

    /// The value for people.
    fn shown(&self) -> String {
        match self.value.abs() {
            v if v.is_nan() => "none".to_owned(),
            v if v < 0.1 => format!("1/{:.0}", 1.0 / v),
            v if v < 100.0 => format!("{:.2}", self.value),
            _ => format!("{:.0}", self.value),
        }
    }

    /// The bar for people.
    fn limit(&self) -> String {
        match self.bar {
            Bar::AtMost(bar) if bar < 0.1 => format!("≤ 1/{:.0}", 1.0 / bar),
            Bar::AtMost(bar) => format!("≤ {bar}"),
            Bar::AtLeast(bar) => format!("≥ {bar}"),
            Bar::None => String::new(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let (kind, bar) = match self.bar {
            Bar::AtMost(bar) => ("at most", Some(bar)),
            Bar::AtLeast(bar) => ("at least", Some(bar)),
            Bar::None => ("", None),
        };
        json!({
            "group": self.group, "what": self.what, "sides": self.sides, "value": self.value,
            "kind": kind, "bar": bar, "verdict": self.verdict(), "shown": self.shown(), "limit": self.limit(),
        })
    }
}

/// A time in nanoseconds for people.
pub(super) fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e4 => format!("{n:.0} ns"),
        n if n < 1e7 => format!("{:.2} ms", n / 1e6),
        n if n < 1e10 => format!("{:.0} ms", n / 1e6),
        n => format!("{:.1} s", n / 1e9),
    }
}

/// Prints the table; returns how many bars were missed.
pub(super) fn print(outcomes: &[Outcome]) -> usize {
    println!("\n{:<8} {:<58} {:>23} {:>9}  {:<8}", "group", "what", "ours / theirs", "result", "bar");
    for outcome in outcomes {
        let Outcome { group, what, sides, .. } = outcome;
        let (value, bar) = (outcome.shown(), outcome.limit());
        println!("{group:<8} {what:<58} {sides:>23} {value:>9}  {bar:<8} {}", outcome.verdict());
    }
    outcomes.iter().filter(|outcome| outcome.passes() == Some(false)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn samples_of_several_runs_come_together() {
        let mut samples = Samples::default();
        samples.add(r#"{"a": [1, 2]}"#).unwrap();
        samples.add(r#"{"a": [9], "b": []}"#).unwrap();
        assert_eq!(samples.median("a"), Ok(2.0));
        assert!(samples.median("b").is_err());
        assert!(samples.add("no JSON").is_err());
    }

    #[test]
    fn exponents_are_those_of_the_growth() {
        let mut samples = Samples::default();
        for size in [10.0, 100.0, 1000.0_f64] {
            samples.0.insert(format!("square/{size}"), vec![3.0 * size * size]);
            samples.0.insert(format!("flat/{size}"), vec![5.0]);
        }
        assert!((samples.exponent("square").unwrap() - 2.0).abs() < 1e-9);
        assert!(samples.exponent("flat").unwrap().abs() < 1e-9);
        assert!(samples.exponent("none").is_err());
    }
}
