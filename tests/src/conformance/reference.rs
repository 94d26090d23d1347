//! The reference, in processes of the Python interpreter that `ONNX_PYTHON` names, or else `python3`. A script in
//! `tests/conformance` answers questions there.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The version that we agree with.
const VERSION: &str = "1.23.2";

/// What the reference makes of a question.
pub enum Answer {
    /// The answer: for a text, the message that it stands for.
    Message(Vec<u8>),
    /// Why it is refused.
    Refused(String),
}

/// The reference, which may not be available.
pub struct Reference {
    script: &'static str,
    absent: OnceLock<Option<String>>,
    /// Processes that wait for a question.
    idle: Mutex<Vec<Process>>,
}

struct Process {
    child: Child,
    questions: ChildStdin,
    answers: ChildStdout,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; what counts is that nothing is left behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reference {
    /// The reference as a script of `tests/conformance` asks it.
    #[must_use]
    pub const fn new(script: &'static str) -> Self {
        Self { script, absent: OnceLock::new(), idle: Mutex::new(Vec::new()) }
    }

    /// Why the reference cannot be asked, if so.
    pub fn absent(&self) -> Option<&str> {
        let absent = self.absent.get_or_init(|| match Process::start(self.script) {
            Ok(process) => {
                self.give_back(process);
                None
            }
            Err(reason) => Some(reason),
        });
        absent.as_deref()
    }

    /// Asks a question of the script, such as a text to parse.
    ///
    /// # Errors
    ///
    /// When the process cannot be started, or ends without an answer.
    pub fn ask(&self, question: &[u8]) -> Result<Answer, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut process = idle.map_or_else(|| Process::start(self.script), Ok)?;
        let answer = process.ask(question).map_err(|error| format!("the process ended: {error}"))?;
        self.give_back(process);
        Ok(answer)
    }

    fn give_back(&self, process: Process) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

impl Process {
    fn start(script: &str) -> Result<Self, String> {
        let python = std::env::var("ONNX_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance").join(script);
        let mut command = Command::new(&python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| format!("`{python}` could not be started: {error}"))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the process has no pipes".to_owned());
        };
        let mut process = Self { child, questions, answers };
        match process.answer() {
            Ok(Answer::Message(version)) if version == VERSION.as_bytes() => Ok(process),
            Ok(Answer::Message(version)) => {
                let version = String::from_utf8_lossy(&version).into_owned();
                Err(format!("`{python}` has onnx {version} instead of {VERSION}"))
            }
            _ => Err(format!("`{python}` has no onnx: ONNX_PYTHON names an interpreter that has")),
        }
    }

    fn ask(&mut self, question: &[u8]) -> io::Result<Answer> {
        self.questions.write_all(&(question.len() as u64).to_le_bytes())?;
        self.questions.write_all(question)?;
        self.questions.flush()?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let (mut length, mut accepted) = ([0; 8], [0; 1]);
        self.answers.read_exact(&mut length)?;
        self.answers.read_exact(&mut accepted)?;
        let length = u64::from_le_bytes(length);
        let mut content = Vec::new();
        let found = (&mut self.answers).take(length).read_to_end(&mut content)?;
        if found as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(if accepted == [1] {
            Answer::Message(content)
        } else {
            Answer::Refused(String::from_utf8_lossy(&content).into_owned())
        })
    }
}
