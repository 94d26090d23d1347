//! How a run went, and how that compares with the committed results.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::runner::Outcome;

/// Something that is wrong with a case.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which expectation is not met, in one word.
    pub kind: String,
    /// What there is instead.
    pub detail: String,
    /// The offset of the first byte that differs, where bytes are compared.
    pub offset: Option<usize>,
    /// The fields that lead to that byte.
    pub path: Option<String>,
    /// The bytes that were checked, if they are not those of the case.
    pub input: Option<Bytes>,
}

impl Failure {
    /// A failure without a place in the bytes.
    #[must_use]
    pub fn new(kind: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: kind.into(), detail: detail.into(), offset: None, path: None, input: None }
    }

    fn json(&self, case: &str) -> Value {
        json!({
            "case": case,
            "kind": self.kind,
            "detail": self.detail,
            "offset": self.offset,
            "path": self.path,
        })
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Report {
    suite: &'static str,
    time: Duration,
    cases: BTreeSet<String>,
    counts: BTreeMap<String, u64>,
    failures: Vec<(String, Failure)>,
    remarks: Vec<(String, String)>,
}

impl Report {
    /// Sums up the outcomes of all cases.
    #[must_use]
    pub fn new(suite: &'static str, outcomes: BTreeMap<String, Outcome>, time: Duration) -> Self {
        let mut report = Self {
            suite,
            time,
            cases: outcomes.keys().cloned().collect(),
            counts: BTreeMap::new(),
            failures: Vec::new(),
            remarks: Vec::new(),
        };
        for (case, outcome) in outcomes {
            for count in outcome.counts {
                *report.counts.entry(count).or_default() += 1;
            }
            report.failures.extend(outcome.failures.into_iter().map(|failure| (case.clone(), failure)));
            report.remarks.extend(outcome.remarks.into_iter().map(|remark| (case.clone(), remark)));
        }
        report
    }

    /// How many cases counted as `count`.
    #[must_use]
    pub fn count(&self, count: &str) -> u64 {
        self.counts.get(count).copied().unwrap_or(0)
    }

    /// Everything that cases counted, by name.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, &count)| (name.as_str(), count))
    }

    /// The name of the suite.
    #[must_use]
    pub const fn suite(&self) -> &'static str {
        self.suite
    }

    /// Number of cases that were checked.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.cases.len()
    }

    /// What is wrong, by case.
    #[must_use]
    pub fn failures(&self) -> &[(String, Failure)] {
        &self.failures
    }

    /// The failures as text: the first ones of each kind, with how many there are.
    #[must_use]
    pub fn listing(&self, most: usize) -> String {
        let mut kinds: BTreeMap<&str, Vec<&(String, Failure)>> = BTreeMap::new();
        for failure in &self.failures {
            kinds.entry(&failure.1.kind).or_default().push(failure);
        }
        let mut text = String::new();
        for (kind, mut failures) in kinds {
            failures.sort_by_key(|(_, failure)| failure.input.as_ref().map_or(0, Bytes::len));
            let _ = writeln!(text, "{kind}: {} times, the smallest first", failures.len());
            for (case, failure) in failures.iter().take(most) {
                let _ = write!(text, "  {case}");
                if let Some(offset) = failure.offset {
                    let _ = write!(text, " at byte {offset}");
                }
                if let Some(path) = &failure.path {
                    let _ = write!(text, " in {path}");
                }
                let _ = writeln!(text, ": {}", failure.detail);
            }
            if failures.len() > most {
                let _ = writeln!(text, "  … and {} more in the report", failures.len() - most);
            }
        }
        let mut remarks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (case, remark) in &self.remarks {
            remarks.entry(remark).or_default().push(case);
        }
        for (remark, cases) in remarks {
            let first = cases.first().copied().unwrap_or_default();
            let _ = writeln!(text, "remark: {remark}: {} cases, such as {first}", cases.len());
        }
        text
    }

    /// Writes the smallest inputs of each kind of failure to a folder, as `KIND/CASE`.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn write_inputs(&self, folder: &Path, most: usize) -> std::io::Result<()> {
        let mut kinds: BTreeMap<&str, Vec<(&str, &Bytes)>> = BTreeMap::new();
        for (case, failure) in &self.failures {
            if let Some(input) = &failure.input {
                kinds.entry(&failure.kind).or_default().push((case, input));
            }
        }
        for (kind, mut inputs) in kinds {
            inputs.sort_by_key(|(_, input)| input.len());
            let folder = folder.join(kind.replace(':', "-"));
            fs::create_dir_all(&folder)?;
            for (case, input) in inputs.into_iter().take(most) {
                fs::write(folder.join(case.replace('/', "-")), input)?;
            }
        }
        Ok(())
    }

    /// The whole report as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "suite": self.suite,
            "seconds": self.time.as_secs_f64(),
            "cases": self.cases(),
            "counts": self.counts,
            "failures": self.failures.iter().map(|(case, failure)| failure.json(case)).collect::<Vec<_>>(),
            "remarks": self.remarks.iter().map(|(case, remark)| json!([case, remark])).collect::<Vec<_>>(),
        })
    }

    /// The time the run took.
    #[must_use]
    pub const fn time(&self) -> Duration {
        self.time
    }

    /// How many failures have no written reason. Recorded cases may differ from the reference for a valid reason, which
    /// is listed in `tests/conformance/deviations`.
    ///
    /// # Errors
    ///
    /// One line for every deviation that is listed without a reason.
    pub fn unexplained(&self) -> Result<usize, String> {
        let listed = self.deviations();
        if let Some((line, _)) = lines(&listed).find(|(_, reason)| reason.is_empty()) {
            return Err(format!("write behind `#` why this is so: {line}"));
        }
        Ok(self.unexplained_keys(&listed).count())
    }

    /// The listed deviations of cases of this run that explain nothing: the case was checked, and does not fail in this way.
    ///
    /// A deviation that is found only with the help of a peer is among them if this peer is not available.
    #[must_use]
    pub fn stale_deviations(&self) -> Vec<String> {
        let found: BTreeSet<String> = self.keys().collect();
        let listed = self.deviations();
        let of_this_run = lines(&listed).map(|(line, _)| line).filter(|line| {
            line.split_once(' ').is_some_and(|(case, _)| self.cases.contains(case)) && !found.contains(*line)
        });
        of_this_run.map(str::to_owned).collect()
    }

    /// `CASE KIND` of every failure that no listed deviation explains.
    fn unexplained_keys(&self, listed: &str) -> impl Iterator<Item = String> {
        let explained: BTreeSet<&str> =
            lines(listed).filter(|(_, reason)| !reason.is_empty()).map(|(line, _)| line).collect();
        self.keys().filter(move |key| !explained.contains(key.as_str()))
    }

    /// `CASE KIND` of every failure.
    fn keys(&self) -> impl Iterator<Item = String> {
        self.failures.iter().map(|(case, failure)| format!("{case} {}", failure.kind))
    }

    /// The text of the suite's file in `tests/conformance/deviations`; empty if there is none.
    fn deviations(&self) -> String {
        fs::read_to_string(in_conformance("deviations", self.suite)).unwrap_or_default()
    }

    /// Compares the failures that no deviation explains with those that are committed; with `bless`, commits those of now.
    /// A bundled case is also part of the corpus, so its reason is listed only once, in `tests/conformance/deviations`.
    ///
    /// # Errors
    ///
    /// One line for every failure that is new, and for every committed one that is gone.
    pub fn compare(&self, bless: bool) -> Result<(), String> {
        let path = in_conformance("results", self.suite);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let now: BTreeSet<String> = self.unexplained_keys(&self.deviations()).collect();
        if bless {
            return bless_results(&path, &committed, &now);
        }
        let expected: BTreeSet<String> = lines(&committed).map(|(line, _)| line.to_owned()).collect();
        let mut text = String::new();
        for new in now.difference(&expected) {
            let _ = writeln!(text, "new failure: {new}");
        }
        for gone in expected.difference(&now) {
            let _ = writeln!(text, "no longer a failure, remove it from `{}`: {gone}", path.display());
        }
        for (line, _) in lines(&committed).filter(|(_, reason)| reason.is_empty()) {
            let _ = writeln!(text, "write behind `#` why this is so: {line}");
        }
        if text.is_empty() { Ok(()) } else { Err(text) }
    }
}

/// The committed file of a suite in a folder of `tests/conformance`.
fn in_conformance(folder: &str, suite: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("conformance/{folder}/{suite}.txt"))
}

/// The lines of a file of results: `CASE KIND` and the reason behind `#`.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (line, reason) = line.split_once('#').unwrap_or((line, ""));
        (line.trim(), reason.trim())
    })
}

fn bless_results(path: &Path, committed: &str, now: &BTreeSet<String>) -> Result<(), String> {
    let reasons: BTreeMap<&str, &str> = lines(committed).collect();
    let mut text: String =
        committed.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    for line in now {
        let _ = writeln!(text, "{line} # {}", reasons.get(line.as_str()).unwrap_or(&""));
    }
    fs::write(path, text).map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_stale_if_its_case_does_not_fail_in_this_way() {
        let stale = |failures: Vec<Failure>| {
            let outcome = Outcome { failures, ..Outcome::default() };
            let outcomes = BTreeMap::from([("node/test_dft_inverse".to_owned(), outcome)]);
            Report::new("backend", outcomes, Duration::ZERO).stale_deviations()
        };
        assert_eq!(stale(vec![Failure::new("different", "")]), Vec::<String>::new());
        // Other listed cases are not part of the run.
        assert_eq!(stale(vec![Failure::new("run", "")]), ["node/test_dft_inverse different"]);
    }
}
