//! `onnx check FILE.onnxops`: everything that is wrong with an operator set document.

use std::path::Path;

use onnx_check::{CheckOptions, check_operator_set};
use onnx_codec::operator_set::declared;
use onnx_diag::Sink;
use onnx_schema::Registry;
use onnx_types::Execution;

use super::Checked;
use super::fix::Repaired;
use crate::exit::Failure;
use crate::input::display_name;
use crate::ops::documents::{self, Read};
use crate::rules;

/// Adds to `sink` what is wrong with the document in a file.
pub(super) fn check(
    path: &Path,
    mut sink: Sink,
    registry: &Registry,
    execution: &Execution,
) -> Result<Checked, Failure> {
    let Read { document, signatures, findings } = documents::load(path, execution)?;
    let bytes = path.metadata().ok().map(|metadata| metadata.len());
    sink.merge(findings);
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(error).help("correct the document, or the signatures next to it")
    };
    let set = declared(&document, signatures.as_ref()).map_err(|error| wrong(&error));
    // Bodies may call the other operators of their document.
    let with_own = set.and_then(|set| registry.with(&set).map_err(|error| wrong(&error)));
    let (registry, contradiction) = match with_own {
        Ok(registry) => (registry, None),
        Err(failure) => (registry.clone(), Some(failure.about(&display_name(path)))),
    };
    if rules::verify(&document.functions, &mut sink) {
        let options = CheckOptions::default().with_registry(registry).with_execution(execution.clone());
        sink.merge(check_operator_set(&document, &options));
    }
    // What no rule found, such as signatures that are those of another set.
    let contradiction = contradiction.filter(|_| !sink.has_errors());
    let repaired = Repaired::default();
    Ok(Checked {
        sink,
        source: None,
        repaired,
        format: "onnxops",
        bytes,
        contradiction,
        repairable: Vec::new(),
    })
}
