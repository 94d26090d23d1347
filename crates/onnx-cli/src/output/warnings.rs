//! Warnings of a command: on standard error for people, and in the report about the model.

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Severity, Sink};

use super::{BAD, Out, WARN, remark, write_aside};
use crate::exit::Failure;
use crate::failures::COMMAND_WARNED;

impl Out {
    /// Says on standard error what the user will want to know although nothing failed, unless the user denies warnings.
    pub(crate) fn warning(&self, message: &str, help: Option<&str>) {
        let Some(severity) = self.of_warnings else { return };
        if !self.is_for_people() {
            let mut diagnostic = Diagnostic::new(&COMMAND_WARNED, Locus::model(), message);
            diagnostic.help = help.map(str::to_owned);
            self.pending.borrow_mut().push(diagnostic);
        }
        if severity == Severity::Error {
            self.is_denied.set(true);
            if !self.is_table() {
                self.aside(&remark(BAD, "error", message, help));
            }
            return;
        }
        if !self.quiet && !self.is_table() {
            self.aside(&remark(WARN, "warning", message, help));
        }
    }

    /// What says the same as [`warning`](Self::warning) from another thread.
    pub(crate) fn warner(&self) -> impl Fn(&str, &str) + Send + 'static {
        let (choice, is_silent) = (self.choice, self.quiet || self.is_table());
        let timeout = self.timeout.clone();
        move |message, help| {
            if !is_silent {
                write_aside(choice, timeout.as_ref(), &remark(WARN, "warning", message, Some(help)));
            }
        }
    }

    /// Sets the severity of warnings, as the policy of the user says.
    pub(crate) fn judge_warnings(&mut self, policy: &Policy) {
        self.of_warnings = policy.severity(&COMMAND_WARNED);
    }

    /// Adds the warnings about a model to what was found in it.
    pub(crate) fn add_warnings(&self, findings: &mut Sink) {
        let pending = self.pending.take();
        let Some(severity) = self.of_warnings.filter(|_| !pending.is_empty()) else { return };
        let policy = findings.policy().clone().set(&COMMAND_WARNED, severity);
        let found = std::mem::replace(findings, Sink::with(policy, Caps::NONE));
        findings.merge(found);
        for warning in pending {
            findings.report(warning);
        }
    }

    /// Whether there was a warning that the user denies since the last question.
    pub(crate) fn take_denied(&self) -> bool {
        self.is_denied.take()
    }

    /// Fails if there was a warning that the user denies: nothing is written then.
    pub(crate) fn require_no_denied(&self) -> Result<(), Failure> {
        if !self.take_denied() {
            return Ok(());
        }
        let help = "leave out `--deny warnings` to get the result in spite of it";
        Err(Failure::because_of_findings("a warning is an error by `--deny`: nothing is written").help(help))
    }

    /// Adds warnings that came after the model was in the report, which is the last one of it without a name.
    pub(crate) fn settle_warnings(&mut self, name: Option<&str>) {
        if self.pending.borrow().is_empty() {
            return;
        }
        let report = &mut self.collected.report;
        let known = match name {
            Some(name) => report.inputs.iter().rposition(|input| input.name == name),
            None => report.inputs.len().checked_sub(1),
        };
        let name = name.or_else(|| self.collected.named.first().map(String::as_str)).unwrap_or_default();
        let index = known.unwrap_or_else(|| report.input(name, None, None, Sink::new()));
        let Some(input) = report.inputs.get_mut(index) else { return };
        let mut findings = std::mem::replace(&mut input.findings, Sink::new());
        self.add_warnings(&mut findings);
        if let Some(input) = self.collected.report.inputs.get_mut(index) {
            input.findings = findings;
        }
    }
}
