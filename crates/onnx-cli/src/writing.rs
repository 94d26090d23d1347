//! Streams that another program reads: standard output, standard error, and pipes. A reader that does not read lets a write wait,
//! so writing to a stream ends at the timeout.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use onnx_types::{Interrupt, Stopped};

use crate::reading::{Unreceived, received};

/// Bytes that are handed to the thread of a stream at a time.
const PIECE: usize = 1 << 20;

/// Time in which a stream has to take a piece, also after the timeout: what the command has to say about its end is short.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether a thread was left behind that waits for the reader of standard output, and has it locked.
static IS_STDOUT_ABANDONED: AtomicBool = AtomicBool::new(false);
/// The same for standard error.
static IS_STDERR_ABANDONED: AtomicBool = AtomicBool::new(false);

/// What is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
    /// Another stream, which nothing else of the process uses.
    Other,
}

impl Stream {
    const fn abandoned(self) -> Option<&'static AtomicBool> {
        match self {
            Self::Stdout => Some(&IS_STDOUT_ABANDONED),
            Self::Stderr => Some(&IS_STDERR_ABANDONED),
            Self::Other => None,
        }
    }

    /// Whether a thread waits for the reader, so that further writes would wait for the thread.
    pub(crate) fn is_abandoned(self) -> bool {
        self.abandoned().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Opens a stream, and writes what a function produces to it. After the timeout, the error is [`Stopped`].
pub(crate) fn write<W: Write>(
    stream: Stream,
    timeout: Option<&Interrupt>,
    open: impl FnOnce() -> io::Result<W> + Send + 'static,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let Some(interrupt) = timeout.filter(|interrupt| !interrupt.is_never()) else {
        let mut writer = open()?;
        return contents(&mut writer).and_then(|()| writer.flush());
    };
    if stream.is_abandoned() {
        return Err(io::Error::other(Stopped));
    }
    let mut writer = InTime::new(stream, interrupt, open)?;
    contents(&mut writer).and_then(|()| writer.flush())
}

/// Whether the timeout ended a write.
pub(crate) fn is_stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Stopped>())
}

/// A stream that a thread writes to. After the timeout, a thread that waits is left behind: the process ends.
struct InTime<'a> {
    stream: Stream,
    pieces: SyncSender<Vec<u8>>,
    /// How opening the stream and writing each piece ended.
    results: Receiver<io::Result<()>>,
    interrupt: &'a Interrupt,
}

impl<'a> InTime<'a> {
    fn new<W: Write>(
        stream: Stream,
        interrupt: &'a Interrupt,
        open: impl FnOnce() -> io::Result<W> + Send + 'static,
    ) -> io::Result<Self> {
        let (pieces, to_write) = sync_channel::<Vec<u8>>(0);
        let (sender, results) = sync_channel(1);
        thread::Builder::new().spawn(move || {
            let mut writer = match open() {
                Ok(writer) => writer,
                Err(error) => return drop(sender.send(Err(error))),
            };
            let mut result = Ok(());
            // The other end is gone after the timeout, and at the end.
            while sender.send(result).is_ok() {
                let Ok(piece) = to_write.recv() else { return };
                result = writer.write_all(&piece).and_then(|()| writer.flush());
            }
        })?;
        let opened = Self { stream, pieces, results, interrupt };
        opened.result()?;
        Ok(opened)
    }

    /// Waits until the thread has done what it was given.
    fn result(&self) -> io::Result<()> {
        match received(&self.results, self.interrupt, PATIENCE) {
            Ok(result) => result,
            Err(Unreceived::Stopped(stopped)) => {
                if let Some(flag) = self.stream.abandoned() {
                    flag.store(true, Ordering::Relaxed);
                }
                Err(io::Error::other(stopped))
            }
            Err(Unreceived::Ended) => Err(io::Error::other("the thread that writes ended")),
        }
    }
}

impl Write for InTime<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        if piece.is_empty() {
            return Ok(0);
        }
        let ended = |_| io::Error::other("the thread that writes ended");
        self.pieces.send(piece.to_vec()).map_err(ended)?;
        self.result()?;
        Ok(piece.len())
    }

    /// The thread flushes each piece.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// An interrupt after a time.
    fn after(time: Duration) -> Interrupt {
        let start = Instant::now();
        Interrupt::when(move || start.elapsed() >= time)
    }

    /// A writer that never takes anything.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_writer_that_waits_ends_with_the_timeout() {
        let interrupt = after(Duration::from_millis(20));
        let start = Instant::now();
        let written = write(Stream::Other, Some(&interrupt), || Ok(Full), |stream| stream.write_all(b"text"));
        assert!(is_stopped(&written.unwrap_err()));
        assert!(start.elapsed() >= PATIENCE);
        let opened = write(
            Stream::Other,
            Some(&interrupt),
            || -> io::Result<Full> {
                loop {
                    thread::park();
                }
            },
            |_| Ok(()),
        );
        assert!(is_stopped(&opened.unwrap_err()));
    }

    #[test]
    fn what_is_read_is_written_also_after_the_timeout() {
        for interrupt in [after(Duration::ZERO), Interrupt::NEVER] {
            let (sender, receiver) = std::sync::mpsc::channel();
            struct Sent(std::sync::mpsc::Sender<Vec<u8>>);
            impl Write for Sent {
                fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                    self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
                    Ok(bytes.len())
                }

                fn flush(&mut self) -> io::Result<()> {
                    Ok(())
                }
            }
            let bytes = vec![7; 2 * PIECE + 1];
            let written = write(
                Stream::Other,
                Some(&interrupt),
                || Ok(Sent(sender)),
                |stream| stream.write_all(&bytes),
            );
            written.unwrap();
            assert_eq!(receiver.iter().flatten().collect::<Vec<u8>>(), bytes);
        }
    }

    #[test]
    fn errors_of_the_stream_are_those_of_the_write() {
        let interrupt = after(Duration::from_secs(600));
        let open = || -> io::Result<Full> { Err(io::ErrorKind::BrokenPipe.into()) };
        let written = write(Stream::Other, Some(&interrupt), open, |_| Ok(()));
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
