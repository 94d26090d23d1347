//! Samples of how long something takes.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Samples by the name of what was measured; times are in nanoseconds, sizes in bytes.
#[derive(Debug, Default)]
pub struct Samples(BTreeMap<String, Vec<u64>>);

impl Samples {
    /// Adds a sample.
    pub fn push(&mut self, name: impl Into<String>, sample: u64) {
        self.0.entry(name.into()).or_default().push(sample);
    }

    /// Measures the processor time of one run; what it makes is dropped after the clock was read.
    ///
    /// Includes time in the kernel. Excludes time in which the thread does not run, so that load on the machine has
    /// little effect on the result.
    pub fn time<T>(&mut self, name: impl Into<String>, run: impl FnOnce() -> T) -> T {
        let start = processor_time();
        let made = black_box(run());
        let time = processor_time().saturating_sub(start);
        self.push(name, time.as_nanos() as u64);
        made
    }

    /// Measures by the clock on the wall, for work that waits for something.
    pub fn wall_time<T>(&mut self, name: impl Into<String>, run: impl FnOnce() -> T) -> T {
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

/// The time that this thread has run.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
