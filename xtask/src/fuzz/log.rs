//! What libFuzzer says at the end of a run.

use std::fmt;

/// What one run, or several of one target, came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    /// How many inputs were tried.
    pub(super) executions: u64,
    /// How many places of the program were reached, of how many there are.
    pub(super) covered: u64,
    pub(super) places: u64,
    /// How many inputs the corpus has.
    pub(super) corpus: u64,
    pub(super) findings: u64,
    /// What the last finding was, in one line.
    pub(super) finding: Option<String>,
    pub(super) seconds: f64,
}

impl Run {
    /// Reads the log of a run.
    pub(super) fn of(log: &str, success: bool) -> Self {
        let mut run = Self::default();
        let mut panic = None;
        for line in log.lines() {
            if let Some(number) = after(line, "stat::number_of_executed_units:") {
                run.executions = number;
            } else if line.starts_with("INFO: Loaded ") && line.contains("inline 8-bit counters") {
                run.places = line.split_once('(').and_then(|(_, rest)| after(rest, "")).unwrap_or_default();
            } else if line.starts_with('#') {
                run.covered = find(line, "cov: ").unwrap_or(run.covered).max(run.covered);
                run.corpus = find(line, "corp: ").unwrap_or(run.corpus);
                // A run that ends by a finding may print no final statistics.
                run.executions = after(line, "#").unwrap_or(run.executions).max(run.executions);
            } else if line.contains("panicked at") || line.contains("ERROR: libFuzzer:") {
                panic.get_or_insert_with(|| line.trim().to_owned());
            } else if line.contains("does not hold: ") {
                panic = Some(line.trim().to_owned());
            }
        }
        if !success {
            run.findings = 1;
            run.finding = Some(panic.unwrap_or_else(|| "the target ended without a word".to_owned()));
        }
        run
    }

    /// Adds what another run of the same target came to.
    pub(super) fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.covered = self.covered.max(other.covered);
        self.places = self.places.max(other.places);
        self.corpus = self.corpus.max(other.corpus);
        self.findings += other.findings;
        self.seconds += other.seconds;
        if other.finding.is_some() {
            self.finding.clone_from(&other.finding);
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, covered, places, corpus, findings, seconds, .. } = self;
        let minutes = seconds / 60.0;
        write!(
            f,
            "{executions} executions in {minutes:.1} min, {covered} of {places} places, {corpus} inputs kept, {findings} findings"
        )
    }
}

/// The number that follows `start` at the beginning of a line.
fn after(line: &str, start: &str) -> Option<u64> {
    let rest = line.strip_prefix(start)?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The number that follows `name` somewhere in a line.
fn find(line: &str, name: &str) -> Option<u64> {
    let at = line.find(name)?;
    after(line.get(at..)?, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read() {
        let log = "\
INFO: Loaded 1 modules   (52345 inline 8-bit counters): 52345 [0x1, 0x2),
#64\tINITED cov: 12 ft: 34 corp: 5/67b exec/s: 0 rss: 41Mb
#6088\tREDUCE cov: 4947 ft: 18294 corp: 671/355Kb lim: 4607 exec/s: 320 rss: 41Mb
stat::number_of_executed_units: 7000
";
        let run = Run::of(log, true);
        let expected = Run { executions: 7000, covered: 4947, places: 52345, corpus: 671, ..Run::default() };
        assert_eq!(run, expected);
        assert_eq!(
            run.to_string(),
            "7000 executions in 0.0 min, 4947 of 52345 places, 671 inputs kept, 0 findings"
        );
        let failed = Run::of(
            "#10\tNEW    cov: 3 ft: 3 corp: 1/1b\nthread panicked at x.rs:1:\ndecode does not hold: y\n",
            false,
        );
        assert_eq!((failed.findings, failed.executions), (1, 10));
        assert_eq!(failed.finding.as_deref(), Some("decode does not hold: y"));
    }
}
