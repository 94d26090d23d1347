//! Claims of edits: `onnx check FILE --prove` runs both sides.

use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_ir::Model;
use onnx_pass::{Equivalence, EquivalenceError, PassOptions, REFUTED_CLAIM, Verdict, prove};
use onnx_schema::Registry;
use onnx_types::Execution;

use crate::exit::Failure;

/// Runs the two sides of a claim, and reports if they differ or cannot be compared.
pub(super) fn test(
    model: &Model,
    execution: &Execution,
    registry: &Registry,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let claim = Equivalence::from_model(model.clone()).map_err(|error| match error {
        EquivalenceError::Form(reason) => Failure::new(format_args!("`--prove`: not a claim: {reason}"))
            .help("`--prove` tests rule files and the claims that `--reproducers` writes; `onnx compare` compares two models"),
        error => Failure::new(format_args!("`--prove`: {error}")),
    })?;
    let options = PassOptions::default().with_registry(registry).with_execution(execution.clone());
    let diagnostic = match prove(&claim, &options) {
        Verdict::Refuted(counterexample) => {
            let found = Diagnostic::new(&REFUTED_CLAIM, Locus::model(), &*counterexample.difference);
            let lines = counterexample.to_string();
            let inputs = lines.lines().filter(|line| *line != counterexample.difference);
            inputs.fold(found, |found, input| found.note(input))
        }
        Verdict::Untested(reason) => {
            let message = format!("the sides could not be compared: {reason}");
            Diagnostic::new(&REFUTED_CLAIM, Locus::model(), message)
        }
        _ => return Ok(()),
    };
    sink.report(diagnostic);
    Ok(())
}
