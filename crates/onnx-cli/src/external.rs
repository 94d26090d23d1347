//! External data of a model: whether the files are there and long enough. No weight is read.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity, Sink};
use onnx_types::tensor::{
    DataError, DataErrorReason, DataSource, ExternalData, Payload, Tensor, checked_range,
};

use crate::exit::Failure;
use crate::input::Loaded;
use crate::tensors;

/// A file of external data is missing, too short, or may not be read.
pub(crate) static EXTERNAL_DATA_MISSING: Rule = Rule {
    code: 1998,
    slug: "external-data-missing",
    severity: Severity::Error,
    summary: "The external data of a tensor are not where the model says.",
    spec: "IR: External Tensor Data",
    reference: Reference::Partly,
    explain: "\
## What

A tensor says that its elements stand in another file, and that file is missing, too short, or outside of the directory of the model.

## Why

Every runtime refuses to load the model, or worse, reads something else.

## Wrong

A model was moved or downloaded without the files beside it.

## Right

Put the files where the model expects them: locations are relative to the directory of the model. `onnx info` lists them. `onnx convert model.onnx one-file.onnx --inline` makes one file of all.
",
};

/// Reports tensors whose external data cannot be had.
pub(crate) fn check(loaded: &Loaded, sink: &mut Sink) -> Result<(), Failure> {
    let mut source = None;
    let mut failure = None;
    tensors::for_each(&loaded.model, |place, tensor| {
        let Payload::External(data) = tensor.payload() else { return };
        if source.is_none() && failure.is_none() {
            match loaded.source() {
                Ok(opened) => source = Some(opened),
                Err(error) => failure = Some(error),
            }
        }
        let Some(problem) = source.as_ref().and_then(|source| problem(tensor, data, source)) else { return };
        sink.report_with(&EXTERNAL_DATA_MISSING, || {
            Diagnostic::new(&EXTERNAL_DATA_MISSING, place.locus(&loaded.model), problem)
                .help("put the file beside the model, where its location says")
        });
    });
    failure.map_or(Ok(()), Err)
}

/// What is wrong with the place of a tensor's elements. Entries that contradict themselves are the checker's business.
fn problem(tensor: &Tensor, data: &ExternalData, source: &dyn DataSource) -> Option<String> {
    let (Ok(location), Ok(offset), Ok(length)) = (data.location(), data.offset(), data.length()) else {
        return None;
    };
    let len = match source.len(location) {
        Ok(len) => len,
        Err(error) => return Some(describe(&error)),
    };
    let wanted = length.or_else(|| tensor.byte_len());
    if checked_range(offset, wanted, len).is_some() {
        return None;
    }
    let end = offset.saturating_add(wanted.unwrap_or_default());
    Some(format!("{} has {len} bytes, and the tensor needs it to have {end}", Quoted(location)))
}

/// What is wrong with a file, in few words.
pub(crate) fn describe(error: &DataError) -> String {
    match &error.reason {
        DataErrorReason::NotFound => format!("{} is missing", Quoted(&error.location)),
        _ => error.to_string(),
    }
}
