//! Processes files on one thread or on several, and reports on them in their order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::available_parallelism;

use onnx_diag::STOPPED;
use onnx_types::Stopped;
use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use crate::exit::{Failure, Outcome};
use crate::input::display_name;
use crate::output::Out;
use crate::progress::Progress;
use crate::size::plural;

/// The stack of a thread, in bytes: what the main thread has on most systems.
const STACK: usize = 8 << 20;

/// Calls `process` with one file after the other, and reports those for which it fails. Returns the worst outcome. Ends early
/// when nothing reads the output.
pub(crate) fn one_by_one(
    files: Vec<Result<PathBuf, Failure>>,
    verb: &'static str,
    out: &mut Out,
    mut process: impl FnMut(&Path, &Progress, &mut Out) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let progress = Progress::start(verb, files.len());
    let mut worst = Outcome::Fine;
    let mut files = files.into_iter();
    while let Some(file) = files.next() {
        if out.is_closed() {
            break;
        }
        let name = file.as_deref().ok().map(display_name);
        progress.begin(name.as_deref().unwrap_or_default());
        let outcome = match file.and_then(|path| process(&path, &progress, out)) {
            Ok(outcome) => outcome,
            Err(failure) => {
                let failure = out.expired(&failure).unwrap_or(failure);
                progress.aside(|| out.refused(name.as_deref(), &failure))?;
                if *failure.rule == STOPPED {
                    let left = files.len();
                    if left > 0 {
                        progress.aside(|| out.refused(None, &not_reached(left)))?;
                    }
                    return Ok(worst.max(failure.outcome()));
                }
                failure.outcome()
            }
        };
        worst = worst.max(outcome);
        progress.end();
    }
    Ok(worst)
}

/// What a timeout leaves.
fn not_reached(files: usize) -> Failure {
    let mut failure = Failure::from(Stopped);
    failure.message = format!("the timeout was exceeded with {} left", plural(files as u64, "file"));
    failure
}

/// In which order results are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    OfFiles,
    /// A file that takes long does not hold back the results of those behind it.
    AsFinished,
}

/// Calls `process` with every file, on `jobs` threads or as many as there are processors, and `tell` with the names and
/// results in the order of the files, as soon as they are known. Ends early when `tell` fails.
pub(crate) fn in_order<T: Send>(
    files: Vec<Result<PathBuf, Failure>>,
    jobs: Option<NonZeroUsize>,
    process: impl Fn(&Path) -> Result<T, Failure> + Sync,
    tell: impl FnMut(String, Result<T, Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each(files, (jobs, Order::OfFiles), process, tell)
}

/// The same in either order.
pub(crate) fn each<T: Send>(
    files: Vec<Result<PathBuf, Failure>>,
    (jobs, order): (Option<NonZeroUsize>, Order),
    process: impl Fn(&Path) -> Result<T, Failure> + Sync,
    mut tell: impl FnMut(String, Result<T, Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let available = || available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = jobs.map_or_else(available, NonZeroUsize::get).min(files.len());
    if threads < 2 {
        return files.into_iter().try_for_each(|file| match file {
            Ok(path) => tell(display_name(&path), process(&path)),
            Err(failure) => tell(String::new(), Err(failure)),
        });
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pool = pool.map_err(|error| Failure::new(error).help("`--jobs 1` needs no threads"))?;
    // Threads wait until their results are taken: those of fast files do not accumulate.
    let (send, receive) = sync_channel(threads);
    let process = &process;
    pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            let all = files.into_iter().enumerate().par_bridge().map(|(index, file)| match file {
                Ok(path) => (index, display_name(&path), process(&path)),
                Err(failure) => (index, String::new(), Err(failure)),
            });
            // The receiver goes away when `tell` fails, which ends the iteration.
            let _ = all.try_for_each(|result| send.send(result).map_err(drop));
        });
        // Results that came before their turn.
        let mut early = BTreeMap::new();
        let mut next = 0_usize;
        let (mut is_stopped, mut left) = (false, 0_usize);
        while let Ok((index, name, result)) = receive.recv() {
            let turn = if order == Order::AsFinished { next } else { index };
            early.insert(turn, (name, result));
            while let Some((name, result)) = early.remove(&next) {
                next += 1;
                let is_late = result.as_ref().err().is_some_and(|failure| *failure.rule == STOPPED);
                if is_stopped && is_late {
                    left += 1;
                    continue;
                }
                is_stopped |= is_late;
                tell(name, result)?;
            }
        }
        if left > 0 {
            tell(String::new(), Err(not_reached(left)))?;
        }
        // This closure owns the receiver: it is dropped also if `tell` fails, and the threads do not wait for it.
        drop(receive);
        Ok(())
    })
}
