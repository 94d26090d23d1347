//! The precondition of commands that depend on what nodes compute: that the nodes are valid in the imported versions.

use onnx_check::{CheckOptions, invalid_nodes};
use onnx_diag::render::text;
use onnx_diag::{Caps, Policy, Sink};
use onnx_schema::Registry;

use crate::args::SeverityArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::{Colours, Out};
use crate::report;

/// What to do about nodes that are not valid.
pub(crate) const HELP: &str = "if the import is wrong, `onnx check --fix` finds the version for which the nodes were written, and \
                               `onnx edit --import [DOMAIN=]N` imports another one; otherwise correct the nodes";

/// A finding for each node that is not valid in the versions that are imported.
pub(crate) fn invalid(loaded: &Loaded, registry: &Registry) -> Result<Sink, Failure> {
    let options =
        CheckOptions::default().with_registry(registry.clone()).with_execution(loaded.execution.clone());
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    for invalid in invalid_nodes(&loaded.model, &options)? {
        sink.report(invalid.finding);
    }
    report::select(&loaded.model, &mut sink);
    Ok(sink)
}

/// Refuses a model with nodes that are not valid, unless the command continues in spite of errors.
pub(crate) fn require_valid_nodes(
    loaded: &Loaded,
    registry: &Registry,
    severity: &SeverityArgs,
    keep_going: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if keep_going {
        return Ok(());
    }
    let mut sink = invalid(loaded, registry)?;
    if sink.is_empty() {
        return Ok(());
    }
    sink.limit(severity.caps().unwrap_or(Caps::DEFAULT));
    let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
    out.findings(&sink, &options);
    sink.merge(loaded.findings.clone());
    out.input(loaded, sink)?;
    let message =
        "nodes are not valid in the versions that are imported, so that nothing says what they compute";
    Err(Failure::because_of_findings(message).about(&loaded.name).help(HELP))
}
