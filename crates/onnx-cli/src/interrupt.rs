//! Handles the signals that end the process: removes temporary files, then ends the process as the default action of
//! the signal does.

use onnx_codec::file::Temporaries;

/// The list of temporary files that a signal removes.
#[cfg(unix)]
pub(crate) fn temporaries() -> Temporaries {
    use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};

    let temporaries = Temporaries::default();
    let ignored = ignored();
    let signals = [SIGHUP, SIGINT, SIGTERM];
    // A signal that the parent process set to be ignored, as `nohup` does, stays ignored.
    let wanted =
        signals.into_iter().filter(|signal| ignored.is_none_or(|mask| mask >> (signal - 1) & 1 == 0));
    // If signals cannot be waited for, they end the process at once, and a temporary file may stay behind.
    let Ok(mut waiting) = signal_hook::iterator::Signals::new(wanted) else { return temporaries };
    let list = temporaries.clone();
    std::thread::spawn(move || {
        if let Some(signal) = waiting.forever().next() {
            let _stopped = list.stop();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    temporaries
}

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
