//! Samples of how long something takes.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// Samples by the name of what was measured; times are in nanoseconds, sizes in bytes.
#[derive(Debug, Default)]
pub struct Samples(BTreeMap<String, Vec<u64>>);

impl Samples {
    /// Adds a sample.
    pub fn push(&mut self, name: impl Into<String>, sample: u64) {
        self.0.entry(name.into()).or_default().push(sample);
    }

    /// Measures one run by the clock on the wall, whatever threads it has; what it makes is dropped after the clock was
    /// read.
    pub fn time<T>(&mut self, name: impl Into<String>, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = black_box(run());
        self.push(name, start.elapsed().as_nanos() as u64);
        made
    }

    /// The samples as a JSON object of lists.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(self.0).to_string()
    }
}
