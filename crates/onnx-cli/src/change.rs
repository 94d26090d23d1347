//! What commands that change a model report: diagnostics, and the result for programs.

use onnx_diag::render::text;
use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_ir::Model;
use onnx_types::Symbol;
use onnx_version::rules::CONVERSION_INVALID_NODE;
use serde::Serialize;

use crate::args::SeverityArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::json::JsonText;
use crate::output::{Colours, Out};
use crate::{precondition, report};

/// How many findings a person reads.
pub(crate) const TEXT_CAPS: Caps = Caps { per_rule: 10, total: 100 };

/// Texts of help that are shown: those of many errors are alike except for names.
const MAX_HELPS: usize = 3;

/// Diagnostics of an edit, with the severities that the user wants.
pub(crate) struct Judged {
    found: Sink,
    /// How many of them a person reads.
    shown: Caps,
}

impl Judged {
    pub(crate) fn new(found: Sink, loaded: &Loaded, severity: &SeverityArgs) -> Result<Self, Failure> {
        Self::by(Policy::new(), found, loaded, severity)
    }

    /// By a policy, as far as the arguments do not say otherwise.
    pub(crate) fn by(
        policy: Policy,
        found: Sink,
        loaded: &Loaded,
        severity: &SeverityArgs,
    ) -> Result<Self, Failure> {
        let caps = severity.caps().unwrap_or(Caps::DEFAULT);
        let mut judged = Sink::with(severity.policy(policy)?, caps);
        judged.merge(found);
        report::select(&loaded.model, &mut judged);
        Ok(Self { found: judged, shown: severity.caps().unwrap_or(TEXT_CAPS) })
    }

    /// Returns `true` if a diagnostic is an error, so that the output is not written.
    pub(crate) fn is_refused(&self) -> bool {
        self.found.has_errors()
    }
}

/// Lists the diagnostics on standard error, and adds them and the result to the report.
pub(crate) fn report(
    loaded: &Loaded,
    judged: &Judged,
    (kind, item): (&'static str, &impl Serialize),
    out: &mut Out,
) -> Result<(), Failure> {
    report_all(loaded, judged, (kind, std::slice::from_ref(item)), out)
}

/// Like [`report()`], with several results.
pub(crate) fn report_all(
    loaded: &Loaded,
    judged: &Judged,
    (kind, items): (&'static str, &[impl Serialize]),
    out: &mut Out,
) -> Result<(), Failure> {
    if !judged.found.is_empty() {
        let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
        let mut shown = judged.found.clone();
        shown.limit(judged.shown);
        out.findings(&shown, &options);
        // Concise diagnostics are without their help: what to do about errors is said once for all of them.
        helps(&judged.found).into_iter().for_each(|help| out.help(help));
    }
    let mut found = judged.found.clone();
    found.merge(loaded.findings.clone());
    if out.is_for_people() {
        return out.input(loaded, found);
    }
    out.result_kind(kind, "models");
    let items = items.iter().map(JsonText::of).collect::<Result<Vec<JsonText>, Failure>>()?;
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), found, items)
}

/// The first different texts of help of errors.
fn helps(found: &Sink) -> Vec<&str> {
    let mut helps: Vec<&str> = Vec::new();
    for found in found.diagnostics().iter().filter(|found| found.severity == Severity::Error) {
        let is_invalid = *found.rule == CONVERSION_INVALID_NODE;
        let help = if is_invalid { Some(precondition::HELP) } else { found.help.as_deref() };
        helps.extend(help.filter(|help| !helps.contains(help)));
        if helps.len() == MAX_HELPS {
            break;
        }
    }
    helps
}

/// The identity of a function as selectors write it: `domain.name:overload`.
pub(crate) fn identity(model: &Model, (domain, name, overload): (Symbol, Symbol, Symbol)) -> String {
    let mut text = String::new();
    if !domain.is_empty() {
        text.push_str(model.str(domain));
        text.push('.');
    }
    text.push_str(model.str(name));
    if !overload.is_empty() {
        text.push(':');
        text.push_str(model.str(overload));
    }
    text
}
