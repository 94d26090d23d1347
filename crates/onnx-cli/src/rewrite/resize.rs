//! `onnx simplify --set DIM=SIZE`: sizes that change before the passes run, as by `onnx edit`.

use onnx_compose::{ComposeError, EditOptions, Resized};
use onnx_diag::Sink;
use onnx_schema::Registry;
use serde_json::{Value, json};

use super::EditArgs;
use crate::change::{self, Judged};
use crate::edit::sizes;
use crate::exit::{Failure, Outcome};
use crate::extract::invalid;
use crate::input::Loaded;
use crate::output::Out;

/// Changes the sizes; the inner error is why they cannot change. The outer one is about the arguments.
pub(super) fn resize(
    loaded: &mut Loaded,
    texts: &[String],
    registry: &Registry,
) -> Result<Result<Resized, Sink>, Failure> {
    if texts.is_empty() {
        return Ok(Ok(Resized::default()));
    }
    let changes = sizes::changes(&loaded.model, texts)?;
    let source = loaded.source()?;
    let options = EditOptions::default()
        .with_registry(registry)
        .with_data(&source)
        .with_execution(loaded.execution.clone());
    let had_errors = invalid(&loaded.model).has_errors();
    Ok(match onnx_compose::resize(&mut loaded.model, &changes, &options) {
        Ok(resized) => {
            let found = if had_errors { Sink::new() } else { invalid(&loaded.model) };
            if found.has_errors() { Err(found) } else { Ok(resized) }
        }
        Err(ComposeError::Stopped(stopped)) => return Err(stopped.into()),
        Err(error) => Err(error.findings(&loaded.model)),
    })
}

/// Reports why the sizes cannot change.
pub(super) fn refuse(
    loaded: &Loaded,
    found: Sink,
    args: &EditArgs,
    report: &'static str,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    let judged = Judged::new(found, loaded, &args.input.severity)?;
    change::report_all(loaded, &judged, (report, &[] as &[Value]), out)?;
    Ok(Outcome::Findings)
}

/// Tells which sizes changed.
pub(super) fn describe(resized: &Resized, out: &Out) {
    let parts = sizes::describe(resized, out);
    if !parts.is_empty() {
        out.summary(&format!("changed {}", parts.join(", ")));
    }
}

/// The sizes for programs.
pub(super) fn to_json(resized: &Resized) -> Value {
    let size = |(variable, size): &(String, i64)| json!({ "variable": variable, "size": size });
    json!({
        "bound": resized.bound.iter().map(size).collect::<Vec<_>>(),
        "freed": resized.freed.iter().map(size).collect::<Vec<_>>(),
        "renamed": resized.renamed.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
        "conditions": resized.conditions,
    })
}
