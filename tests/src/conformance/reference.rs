//! The reference and onnxruntime, in processes of the Python interpreter that `ONNX_PYTHON` names, or else `python3`. A script in
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
    /// The packages that it needs in addition to `onnx`.
    packages: &'static [&'static str],
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
        Self::of(script, &[])
    }

    /// The same, where the interpreter needs onnxruntime, too.
    #[must_use]
    pub const fn with_runtime(script: &'static str) -> Self {
        Self::of(script, &["onnxruntime"])
    }

    const fn of(script: &'static str, packages: &'static [&'static str]) -> Self {
        Self { script, packages, absent: OnceLock::new(), idle: Mutex::new(Vec::new()) }
    }

    /// Why the reference cannot be asked, if so.
    pub fn absent(&self) -> Option<&str> {
        let absent = self.absent.get_or_init(|| match Process::start(self.script, self.packages) {
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
        let mut process = idle.map_or_else(|| Process::start(self.script, self.packages), Ok)?;
        let answer = process.ask(question).map_err(|error| format!("the process ended: {error}"))?;
        self.give_back(process);
        Ok(answer)
    }

    fn give_back(&self, process: Process) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

impl Process {
    fn start(script: &str, packages: &[&str]) -> Result<Self, String> {
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
        let wanted: Vec<String> = std::iter::once(format!("onnx=={VERSION}"))
            .chain(packages.iter().map(ToString::to_string))
            .collect();
        let wanted = wanted.join(" ");
        let install = format!(
            "`{python} -m pip install {wanted}` installs what is needed, and ONNX_PYTHON names another interpreter"
        );
        // The version, and the names of the other packages that there are.
        let Ok(Answer::Message(answer)) = process.answer() else {
            return Err(format!("`{python}` does not have all of {wanted}: {install}"));
        };
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (version, others) = answer.split_once(' ').unwrap_or((&answer, ""));
        if version != VERSION {
            return Err(format!("`{python}` has onnx {version} instead of {VERSION}: {install}"));
        }
        match packages.iter().find(|&&package| others.split(' ').all(|other| other != package)) {
            Some(package) => Err(format!("`{python}` has no {package}: {install}")),
            None => Ok(process),
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
