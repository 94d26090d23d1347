//! The sum of all runs of the fuzzer on this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::log::Run;
use crate::TaskResult;

/// What the runs of each target came to.
#[derive(Debug)]
pub(super) struct Figures {
    path: PathBuf,
    targets: BTreeMap<String, Target>,
}

/// What the runs of one target came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Target {
    executions: u64,
    minutes: f64,
    covered: u64,
    places: u64,
    corpus: u64,
    findings: u64,
}

impl Figures {
    /// Reads the totals of earlier runs; empty if there were none.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let targets = match fs::read(path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?
            }
            Err(_) => BTreeMap::new(),
        };
        Ok(Self { path: path.to_owned(), targets })
    }

    pub(super) fn add(&mut self, target: &str, run: &Run) {
        let sum = self.targets.entry(target.to_owned()).or_default();
        sum.executions += run.executions;
        sum.minutes += run.seconds / 60.0;
        (sum.covered, sum.places) = (run.covered, run.places);
        sum.corpus = run.corpus;
        sum.findings += run.findings;
    }

    #[expect(clippy::disallowed_methods, reason = "nothing in it comes from a model")]
    pub(super) fn write(&self) -> TaskResult {
        let text = serde_json::to_string_pretty(&self.targets).map_err(|error| error.to_string())?;
        fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// The figures as a table in Markdown, as in `docs/reliability.md`.
    pub(super) fn table(&self) -> String {
        let mut text =
            "| target | executions | minutes | places reached | inputs kept | findings |\n|---|---:|---:|---:|---:|---:|\n"
                .to_owned();
        for (name, target) in &self.targets {
            let Target { executions, minutes, covered, places, corpus, findings } = target;
            let _ = writeln!(
                text,
                "| `{name}` | {executions} | {minutes:.0} | {covered} of {places} | {corpus} | {findings} |"
            );
        }
        text
    }
}
