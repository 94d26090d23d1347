//! Rows of separate processes, which a file may end.
//!
//! A process serves many files, because starting one takes longer than most files. A file that ends a process which has served
//! others is given to a new one: only what happens there is its row.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use onnx_types::{Execution, Interrupt, Limits};

use crate::exit::Failure;
use crate::rows::{self, Row, RowOptions};

/// What a process may take in addition to the time of a file, to start and to see that it should stop.
const GRACE: Duration = Duration::from_secs(5);

/// The variable in which the Python package names its interpreter.
const PYTHON: &str = "ONNXKIT_PYTHON";

/// What is done with each file.
pub(super) struct Work {
    pub(super) limits: Limits,
    /// The time for one file.
    pub(super) time: Duration,
    /// Whether the checker and inference run.
    pub(super) checks: bool,
}

impl Work {
    /// The row of a file, made in this process.
    fn row(&self, path: &Path, name: String, is_alone: bool) -> Row {
        let (start, time) = (Instant::now(), self.time);
        let interrupt = Interrupt::when(move || start.elapsed() >= time);
        let execution = Execution::from(self.limits).with_interrupt(interrupt);
        let options = RowOptions::default().with_execution(execution).with_checks(self.checks);
        rows::of_file(path, name, &options.with_alone(is_alone))
    }
}

/// Processes that make rows.
pub(super) struct Workers<'a> {
    work: &'a Work,
    /// The program that makes rows, with its first arguments; `None` where this process does it.
    program: Option<Vec<OsString>>,
    /// The arguments behind `scan`.
    arguments: Vec<OsString>,
    idle: Mutex<Vec<Worker>>,
}

impl<'a> Workers<'a> {
    /// Processes that get these arguments.
    pub(super) fn new(work: &'a Work, arguments: Vec<OsString>) -> Self {
        Self { work, program: program(), arguments, idle: Mutex::default() }
    }

    /// The row of a file as a line of JSON: that of the first process that decides, which is one that gives a row, or a new one
    /// that dies.
    pub(super) fn row(&self, path: &Path, name: &str) -> Result<String, Failure> {
        let Some(bytes) = self.program.as_ref().and_then(|_| encoded(path)) else {
            return self.work.row(path, name.to_owned(), false).json();
        };
        let start = Instant::now();
        let process = |code, message: String| {
            let mut row = Row::new(name.to_owned()).failed(code, message);
            (row.stage, row.seconds) = ("process", start.elapsed().as_secs_f64());
            row.json()
        };
        let mut is_new = false;
        loop {
            let idle = if is_new { None } else { self.locked().pop() };
            let mut worker = match idle.map_or_else(|| self.start(), Ok) {
                Ok(worker) => worker,
                Err(error) => {
                    return process("ProcessError", format!("no process could be started: {error}"));
                }
            };
            match worker.ask(&bytes, self.work.time.saturating_add(GRACE)) {
                Answer::Row(row) => {
                    // Files before it may have left too little memory.
                    if worker.served > 1
                        && row.contains("memory")
                        && row.contains("\"error_code\":\"LimitError\"")
                    {
                        is_new = true;
                        continue;
                    }
                    self.locked().push(worker);
                    return Ok(row);
                }
                Answer::Late => {
                    let time = self.work.time.as_secs_f64();
                    return process("Stopped", format!("the process did not end in {time} s"));
                }
                Answer::Died if worker.served > 1 => is_new = true,
                Answer::Died => return process("ProcessError", worker.end()),
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> io::Result<Worker> {
        let mut words = self.program.iter().flatten();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words).args(["scan", "--worker"]).args(&self.arguments);
        command.env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Signals of a terminal are for the process that asks: one that ends this process, too, would be the row of its file.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let lost = || io::Error::other("its standard streams are lost");
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(lost)?;
        let (send, rows) = channel();
        thread::Builder::new().spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            // The last line is incomplete if the process dies while it writes.
            while output.read_line(&mut line).is_ok() && line.pop() == Some('\n') {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Worker { child, input: Some(input), rows, served: 0 })
    }
}

/// The program of separate processes: this one, or the interpreter that has it as a library.
pub(crate) fn program() -> Option<Vec<OsString>> {
    let own = std::env::current_exe().ok()?;
    let name = own.file_stem()?.to_string_lossy().to_ascii_lowercase();
    if !name.starts_with("python") {
        return is_command(&name).then(|| vec![own.into_os_string()]);
    }
    let python = std::env::var_os(PYTHON).filter(|path| !path.is_empty())?;
    // Nothing of the current directory is imported.
    Some([python, "-P".into(), "-m".into(), "onnxkit".into()].to_vec())
}

/// Whether a program is the command, by its name: another one can have it as a library. A copy may be called `onnx-1.2`.
fn is_command(name: &str) -> bool {
    name.strip_prefix("onnx")
        .is_some_and(|rest| rest.is_empty() || rest == "kit" || rest.starts_with(['-', '_', '.']))
}

/// The bytes of a path, which a process gets; `None` if no form of it reaches a process unchanged.
fn encoded(path: &Path) -> Option<Vec<u8>> {
    #[cfg(unix)]
    let bytes = Some(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec());
    #[cfg(not(unix))]
    let bytes = path.to_str().map(|path| path.as_bytes().to_vec());
    bytes.filter(|bytes| !bytes.contains(&0))
}

fn decoded(bytes: Vec<u8>) -> Option<PathBuf> {
    #[cfg(unix)]
    return Some(PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)));
    #[cfg(not(unix))]
    return String::from_utf8(bytes).ok().map(PathBuf::from);
}

enum Answer {
    Row(String),
    /// It was killed, because it takes too long.
    Late,
    Died,
}

struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    rows: Receiver<String>,
    served: u64,
}

impl Worker {
    fn ask(&mut self, path: &[u8], time: Duration) -> Answer {
        self.served += 1;
        let asked = self.input.as_mut().is_some_and(|input| {
            input.write_all(path).and_then(|()| input.write_all(&[0])).and_then(|()| input.flush()).is_ok()
        });
        if !asked {
            return Answer::Died;
        }
        match self.rows.recv_timeout(time) {
            Ok(row) => Answer::Row(row),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                Answer::Late
            }
            Err(RecvTimeoutError::Disconnected) => Answer::Died,
        }
    }

    /// Waits for the end of a process that died, and tells it.
    fn end(&mut self) -> String {
        self.input = None;
        let mut text = Vec::new();
        if let Some(errors) = self.child.stderr.take() {
            let _ = errors.take(1 << 12).read_to_end(&mut text);
        }
        let _ = self.child.kill();
        let status = self.child.wait().map_or_else(|error| error.to_string(), ended);
        let text = String::from_utf8_lossy(&text);
        // A blank line comes first where the standard library reports.
        match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => format!("the process ended {status}: {line}"),
            None => format!("the process ended {status}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => "SIGILL",
            6 => "SIGABRT",
            7 => "SIGBUS",
            8 => "SIGFPE",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            15 => "SIGTERM",
            other => return format!("by signal {other}"),
        };
        return format!("by {name}");
    }
    status.code().map_or_else(|| "without a status".to_owned(), |code| format!("with status {code}"))
}

/// Makes a row for each path on standard input, which ends with a zero byte: what the separate process does.
pub(super) fn serve(work: &Work) -> Result<(), Failure> {
    // A panic is in the row.
    std::panic::set_hook(Box::new(|_| {}));
    let (send, paths) = channel();
    let reader = thread::Builder::new().spawn(move || {
        let mut input = io::stdin().lock();
        let mut bytes = Vec::new();
        while input.read_until(0, &mut bytes).is_ok() && bytes.pop() == Some(0) {
            if send.send(std::mem::take(&mut bytes)).is_err() {
                return;
            }
        }
        // The process that asks is gone, however it ended: it does not wait for the file that is being read.
        end_at_once();
    });
    reader.map_err(|error| Failure::new(format_args!("no thread could be started: {error}")))?;
    let mut rows = io::stdout().lock();
    for path in paths.iter().filter_map(decoded) {
        let row = work.row(&path, rows::name(&path), true).json()?;
        if writeln!(rows, "{row}").and_then(|()| rows.flush()).is_err() {
            break;
        }
    }
    Ok(())
}

/// Ends the process while another thread works.
#[cfg(unix)]
fn end_at_once() {
    signal_hook::low_level::exit(0);
}

#[cfg(not(unix))]
fn end_at_once() {
    std::process::exit(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_command_is_the_command() {
        for name in ["onnx", "onnxkit", "onnx-1.2", "onnx_linux", "onnx.old"] {
            assert!(is_command(name), "{name}");
        }
        for name in ["", "onnxruntime", "onnxsim", "my-onnx", "onn"] {
            assert!(!is_command(name), "{name}");
        }
    }
}
