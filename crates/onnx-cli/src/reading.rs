//! Files and streams that arguments name. A pipe can stay open without data, so reading one ends at the timeout.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_codec::file::{self, MAX_STREAM_BYTES};
use onnx_types::Interrupt;

use crate::exit::Failure;

/// Time between two checks of the timeout while a stream is read.
const POLL: Duration = Duration::from_millis(5);

/// The contents of a file, or of a pipe.
pub(crate) fn read(path: &Path, mode: ReadMode, interrupt: &Interrupt) -> Result<Bytes, Failure> {
    if !file::is_stream(path) {
        return Ok(file::read(path, mode)?);
    }
    let owned = path.to_owned();
    Ok(in_time(interrupt, move || file::read(owned, mode))??)
}

/// The contents of standard input.
pub(crate) fn read_stdin(interrupt: &Interrupt) -> Result<Bytes, Failure> {
    let read = in_time(interrupt, || {
        let mut bytes = Vec::new();
        io::stdin().lock().take(MAX_STREAM_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes =
        read?.map_err(|error| Failure::not_readable(format_args!("<stdin>: cannot be read: {error}")))?;
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
    let failed = |error: io::Error| Failure::not_readable(format_args!("{shown}: {error}"));
    if std::fs::metadata(path).map_err(failed)?.len() > most {
        return Err(Failure::new(format_args!("{shown}: the file is too large for {what}")));
    }
    let bytes = read(path, ReadMode::Memory, interrupt)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|error| Failure::new(format_args!("{shown}: this is not UTF-8: {error}")))?;
    Ok(text.to_owned())
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
    spawned.map_err(|error| Failure::new(format_args!("no thread can be made: {error}")))?;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => interrupt.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::defect("the thread that reads ended without a result"));
            }
        }
    }
}
