//! Asks a suite about every case, on several threads.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::data::{Case, Data};
use super::reference::Reference;
use super::report::{Failure, Report};

/// One question asked of every case.
pub trait Suite: Sync {
    /// The name: `--suite NAME`.
    fn name(&self) -> &'static str;

    /// Hands over the cases of the suite.
    ///
    /// # Errors
    ///
    /// When a collection cannot be read, or `feed` fails.
    fn cases(&self, data: &Data, feed: &mut super::data::Feed<'_>) -> Result<(), String>;

    /// The peer that is asked about these cases; `None` if none is.
    fn peer(&self, data: &Data) -> Option<&Reference> {
        let _ = data;
        None
    }

    /// The arguments with which the suite has cases.
    fn needs(&self) -> &'static str {
        "it has cases without `--corpus` and `--models`"
    }

    /// Returns `true` if cases of the suite are committed, so that its failures are compared with committed ones.
    fn has_bundled_cases(&self) -> bool {
        true
    }

    /// Returns `true` if a listed deviation that explains nothing fails: no deviation is found only with the help of a peer.
    fn refuses_stale_deviations(&self) -> bool {
        false
    }

    /// Checks one case.
    fn check(&self, case: &Case) -> Outcome;

    /// The line that sums up a run.
    fn summary(&self, report: &Report) -> String;
}

/// The result of a suite for one case.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the case counts as; each adds one to a total of the report.
    pub counts: Vec<String>,
    /// What is wrong.
    pub failures: Vec<Failure>,
    /// What is worth knowing, but not wrong.
    pub remarks: Vec<String>,
}

/// How to run a suite.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of threads that check cases.
    pub jobs: usize,
    /// Only the cases whose identifier contains this.
    pub only: Option<String>,
}

/// Runs a suite on all its cases.
///
/// # Errors
///
/// When the cases cannot be read.
pub fn run(suite: &dyn Suite, data: &Data, options: &Options) -> Result<Report, String> {
    let start = Instant::now();
    let results = Mutex::new(BTreeMap::new());
    let (send, receive) = sync_channel::<Case>(options.jobs);
    let receive = Mutex::new(receive);
    let fed = std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| work(suite, &receive, &results));
        }
        let fed = suite.cases(data, &mut |case| {
            if options.only.as_deref().is_some_and(|only| !case.id.contains(only)) {
                return Ok(());
            }
            send.send(case).map_err(|_| "all workers are gone".to_owned())
        });
        drop(send);
        fed
    });
    fed?;
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Report::new(suite.name(), results, start.elapsed()))
}

fn work(suite: &dyn Suite, receive: &Mutex<Receiver<Case>>, results: &Mutex<BTreeMap<String, Outcome>>) {
    loop {
        let next = receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(case) = next else { return };
        let outcome = catch_unwind(AssertUnwindSafe(|| suite.check(&case))).unwrap_or_else(|_| Outcome {
            failures: vec![Failure::new("panic", "the code under test panicked")],
            ..Outcome::default()
        });
        results.lock().unwrap_or_else(PoisonError::into_inner).insert(case.id, outcome);
    }
}
