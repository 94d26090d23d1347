//! Handles the signals that end the process: removes temporary files, reports what was done, then ends the process as the
//! default action of the signal does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_codec::file::Temporaries;

/// What is reported before a signal ends the process, which gets the name of the signal.
type Report = Box<dyn FnOnce(&'static str) + Send>;

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

fn report() -> MutexGuard<'static, Option<Report>> {
    REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work with a report that is made if a signal ends it. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reported(());

impl Drop for Reported {
    fn drop(&mut self) {
        *report() = None;
    }
}

/// Reports what was done if a signal ends the process before the result is dropped. Without Unix signals, nothing is reported.
#[must_use]
pub(crate) fn reported(made: impl FnOnce(&'static str) + Send + 'static) -> Reported {
    // The thread that waits for signals.
    drop(temporaries());
    *report() = Some(Box::new(made));
    Reported(())
}

/// The list of temporary files that a signal removes. There is one for the process, since a thread waits for the signals.
#[cfg(unix)]
pub(crate) fn temporaries() -> Temporaries {
    static LIST: std::sync::OnceLock<Temporaries> = std::sync::OnceLock::new();

    LIST.get_or_init(removed_by_signals).clone()
}

#[cfg(unix)]
fn removed_by_signals() -> Temporaries {
    use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};

    let temporaries = Temporaries::default();
    let ignored = ignored();
    let signals = [SIGHUP, SIGINT, SIGTERM];
    // A signal that the parent process set to be ignored, as `nohup` does, stays ignored.
    let wanted =
        signals.into_iter().filter(|signal| ignored.is_none_or(|mask| mask >> (signal - 1) & 1 == 0));
    // If signals cannot be waited for, or the thread for it cannot be made, they end the process at once, and a temporary file may
    // stay behind.
    let Ok(mut waiting) = signal_hook::iterator::Signals::new(wanted) else { return temporaries };
    let list = temporaries.clone();
    let handle = waiting.handle();
    let thread = std::thread::Builder::new().spawn(move || {
        if let Some(signal) = waiting.forever().next() {
            let _stopped = list.stop();
            make_report(signal_hook::low_level::signal_name(signal).unwrap_or("a signal"));
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    if thread.is_err() {
        handle.close();
    }
    temporaries
}

/// Makes the report, unless it waits for what never comes, such as a reader of standard error.
#[cfg(unix)]
fn make_report(signal: &'static str) {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
    let Some(made) = report().take() else { return };
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::Builder::new().spawn(move || {
        made(signal);
        drop(end);
    });
    if thread.is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Makes the limits of the process failures of the command. If the system has no memory, the process ends with the status of an exceeded
/// limit: the standard library reports the request that failed, and aborts.
#[cfg(unix)]
pub(crate) fn obey_limits_of_process() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    // If the signal cannot be caught, the process aborts.
    let _ = signal_hook::flag::register_conditional_shutdown(
        signal_hook::consts::signal::SIGABRT,
        i32::from(onnx_diag::Status::Limit.exit()),
        Arc::new(AtomicBool::new(true)),
    );
    // Where the size of files is limited, the write fails, and what was written is removed, instead of the end of the process.
    let _ = signal_hook::flag::register(signal_hook::consts::signal::SIGXFSZ, Arc::default());
}

/// Without Unix signals, the process aborts if the system has no memory.
#[cfg(not(unix))]
pub(crate) fn obey_limits_of_process() {}

/// The signals that the process ignores, or `None` if the system does not report them.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// The list of temporary files; without Unix signals nothing removes them.
#[cfg(not(unix))]
pub(crate) fn temporaries() -> Temporaries {
    Temporaries::default()
}
