//! The report of a command: inputs with their diagnostics, outputs, failures and a result.

use crate::rule::{Rule, STOPPED};
use crate::sink::{Counts, Sink};

/// The program that reports.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// Name of the program.
    pub name: &'a str,
    /// Version of the program.
    pub version: &'a str,
    /// Address of the page that explains rules; `#CODE` is appended. Empty if there is none.
    pub rules_url: &'a str,
}

/// The status of a command. The order is from success to failure: the status of several inputs is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It succeeded: exit status 0.
    #[default]
    Ok,
    /// It completed with a negative result, such as a diagnostic of severity error: exit status 1.
    Findings,
    /// A limit or the timeout was exceeded: exit status 3.
    Limit,
    /// It failed, because of its arguments, files, or bytes that are not a model: exit status 2.
    Failed,
}

impl Status {
    /// The exit status of the process.
    #[must_use]
    pub const fn exit(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Findings => 1,
            Self::Failed => 2,
            Self::Limit => 3,
        }
    }

    /// The word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Findings => "findings",
            Self::Failed => "failed",
            Self::Limit => "limit",
        }
    }
}

/// A file that a command read.
#[derive(Clone, Debug)]
pub struct Input {
    /// Name of the file as the user gave it.
    pub name: String,
    /// Format of the file: `onnx`, `textproto`, `json`, `onnxtxt`, `onnxops`; `None` if it is unknown.
    pub format: Option<&'static str>,
    /// Size in bytes; `None` if it is unknown.
    pub bytes: Option<u64>,
    /// The diagnostics.
    pub findings: Sink,
}

/// A file that a command wrote, or would write.
#[derive(Clone, Debug)]
pub struct Output {
    /// Name of the file as the user gave it.
    pub name: String,
    /// Format of the file.
    pub format: Option<&'static str>,
    /// Size in bytes; `None` if it is unknown.
    pub bytes: Option<u64>,
    /// Whether it was written; `false` in a dry run.
    pub written: bool,
}

/// Why a command could not do what was requested.
#[derive(Clone, Debug)]
pub struct CommandFailure {
    /// The rule with the code and name of the failure.
    pub rule: &'static Rule,
    /// The message that states the failure.
    pub message: String,
    /// The suggested next step.
    pub help: Option<String>,
    /// Position of the input that it is about, among [`CommandReport::inputs`].
    pub input: Option<usize>,
    /// Name of the limit that was exceeded.
    pub limit: Option<String>,
}

/// Everything that a command reports. [`render`](crate::render) writes it as JSON, SARIF or annotations.
///
/// ```
/// use onnx_diag::{CommandReport, Sink, Status, Tool};
///
/// let mut report = CommandReport::new(Tool { name: "lint", version: "1.0.0", rules_url: "" }, "check");
/// report.input("m.onnx", None, None, Sink::new());
/// assert_eq!(report.status(), Status::Ok);
/// ```
#[derive(Clone, Debug)]
pub struct CommandReport {
    /// The program.
    pub tool: Tool<'static>,
    /// Name of the command.
    pub command: String,
    /// The inputs, in order.
    pub inputs: Vec<Input>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// The failures.
    pub failures: Vec<CommandFailure>,
    /// The result of the command, as a JSON object with a `kind`.
    pub result: Option<String>,
    /// A status that the diagnostics and failures do not show, such as a text that is not formatted.
    pub at_least: Status,
    /// Returns `true` for rules whose violations the program can repair.
    pub is_fixable: fn(&Rule) -> bool,
}

impl CommandReport {
    /// An empty report.
    pub fn new(tool: Tool<'static>, command: impl Into<String>) -> Self {
        Self {
            tool,
            command: command.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            failures: Vec::new(),
            result: None,
            at_least: Status::Ok,
            is_fixable: |_| false,
        }
    }

    /// Adds an input with what was found in it, and returns its position.
    pub fn input(
        &mut self,
        name: impl Into<String>,
        format: Option<&'static str>,
        bytes: Option<u64>,
        findings: Sink,
    ) -> usize {
        self.inputs.push(Input { name: name.into(), format, bytes, findings });
        self.inputs.len() - 1
    }

    /// The status that follows from failures and diagnostics.
    #[must_use]
    pub fn status(&self) -> Status {
        let is_limit = |failure: &CommandFailure| failure.limit.is_some() || *failure.rule == STOPPED;
        let failures = self
            .failures
            .iter()
            .map(|failure| if is_limit(failure) { Status::Limit } else { Status::Failed });
        let findings =
            self.inputs.iter().filter(|input| input.findings.has_errors()).map(|input| {
                if input.findings.exceeded().is_some() { Status::Limit } else { Status::Findings }
            });
        failures.chain(findings).fold(self.at_least, Status::max)
    }

    /// The diagnostics of all inputs by severity.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inputs.iter().fold(Counts::default(), |mut sum, input| {
            let counts = input.findings.counts();
            sum.errors = sum.errors.saturating_add(counts.errors);
            sum.warnings = sum.warnings.saturating_add(counts.warnings);
            sum.notes = sum.notes.saturating_add(counts.notes);
            sum
        })
    }
}
