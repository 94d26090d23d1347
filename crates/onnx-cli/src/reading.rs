//! Files and streams that arguments name. A pipe can stay open without data, so reading one ends at the timeout, as
//! [`writing`](crate::writing) does.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_codec::file::{self, MAX_STREAM_BYTES};
use onnx_types::{Execution, Interrupt, Limits, Stopped};

use crate::exit::Failure;
use crate::format;
use crate::input::{display_name, is_stdin, require_length};

/// Time between two checks of the timeout while a stream is waited for.
const POLL: Duration = Duration::from_millis(5);

/// The contents of a file, or of a pipe.
pub(crate) fn read(path: &Path, mode: ReadMode, interrupt: &Interrupt) -> Result<Bytes, Failure> {
    if is_stdin(path) {
        let help = "write the data to a file; a file that is called `-` is written `./-`";
        return Err(Failure::new("only a model is read from standard input: `-`").help(help));
    }
    if !file::is_stream(path) {
        return Ok(file::read(path, mode)?);
    }
    let owned = path.to_owned();
    Ok(in_time(interrupt, move || file::read(owned, mode))??)
}

/// The contents of a file, or of a pipe, that is read completely and is not a model.
pub(crate) fn read_within(path: &Path, execution: &Execution) -> Result<Bytes, Failure> {
    let bytes = read(path, ReadMode::Memory, &execution.interrupt)?;
    require_length(bytes.len() as u64, &execution.limits)
        .map_err(|failure| failure.about(&display_name(path)))?;
    Ok(bytes)
}

/// The contents of standard input.
pub(crate) fn read_stdin(interrupt: &Interrupt) -> Result<Bytes, Failure> {
    let read = in_time(interrupt, || {
        let mut bytes = Vec::new();
        io::stdin().lock().take(MAX_STREAM_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = read?.map_err(|error| {
        let message = format_args!("<stdin>: cannot be read: {error}");
        match error.kind() {
            io::ErrorKind::OutOfMemory => Failure::exceeding(Limits::MEMORY, message),
            _ => Failure::not_readable(message),
        }
    })?;
    if bytes.len() as u64 > MAX_STREAM_BYTES {
        return Err(Failure::new(format_args!("standard input gives more than {MAX_STREAM_BYTES} bytes"))
            .help("store the model in a file first"));
    }
    Ok(bytes.into())
}

/// The text of a file, or of a pipe, that is not longer than `most` bytes; `what` is what it is for.
pub(crate) fn read_text(
    path: &Path,
    (most, what): (u64, &str),
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let shown = crate::output::shown(&path.to_string_lossy());
    // A file that is missing is reported when it is read.
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > most) {
        return Err(Failure::new(format_args!("{shown}: the file is too large for {what}"))
            .help(format!("name {what} of at most {}", crate::size::bytes(most))));
    }
    let bytes = read(path, ReadMode::Memory, interrupt)?;
    utf8(&bytes, what).map_err(|failure| failure.about(&shown))
}

/// The text of contents; `what` is what it is for.
pub(crate) fn utf8(bytes: &[u8], what: &str) -> Result<String, Failure> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        format::instead(bytes, what)
            .unwrap_or_else(|| Failure::new(format_args!("this is not UTF-8: {error}")))
            .help(format!("name {what}"))
    })
}

/// Runs work that may wait for another program. After the timeout, its thread is left behind: the process ends.
fn in_time<T: Send + 'static>(
    interrupt: &Interrupt,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    interrupt.check()?;
    if interrupt.is_never() {
        return Ok(work());
    }
    let (sender, receiver) = channel();
    let spawned = std::thread::Builder::new().spawn(move || {
        // The receiver is gone after the timeout.
        let _ = sender.send(work());
    });
    spawned.map_err(|error| {
        Failure::new(format_args!("no thread can be made: {error}"))
            .help("allow the process more memory or threads: `ulimit -v`, `ulimit -u`")
    })?;
    match received(&receiver, interrupt, Duration::ZERO) {
        Ok(done) => Ok(done),
        Err(Unreceived::Stopped(stopped)) => Err(stopped.into()),
        Err(Unreceived::Ended) => Err(Failure::defect("the thread that reads ended without a result")),
    }
}

/// Why a thread gave no result.
#[derive(Debug)]
pub(crate) enum Unreceived {
    /// The timeout was exceeded.
    Stopped(Stopped),
    /// The thread ended.
    Ended,
}

/// What a thread that may wait for another program sends until the timeout, and at least for a time.
pub(crate) fn received<T>(
    receiver: &Receiver<T>,
    interrupt: &Interrupt,
    at_least: Duration,
) -> Result<T, Unreceived> {
    let start = Instant::now();
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if start.elapsed() < at_least => {}
            Err(RecvTimeoutError::Timeout) => interrupt.check().map_err(Unreceived::Stopped)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Unreceived::Ended),
        }
    }
}
