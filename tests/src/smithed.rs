//! What must hold of every generated model.

use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_diag::Severity;
use onnx_ir::Model;
use onnx_shape_infer::{Options, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

/// What is wrong with a model that should be valid: the property that does not hold, in one word, and how.
///
/// # Errors
///
/// When the arenas do not fit together, the checker or inference finds something, or the model does not come back from
/// bytes or from text.
pub fn fault(model: &Model) -> Result<(), (&'static str, String)> {
    model.verify().map_err(|fault| ("verify", format!("{fault:?}")))?;
    let options = CheckOptions { data: true, ..CheckOptions::default() };
    let findings = check(model, &options);
    let errors = findings.diagnostics().iter().find(|found| found.severity == Severity::Error);
    if let Some(found) = errors {
        return Err(("check", format!("{}: {}", found.locus, found.message)));
    }
    let mut options = Options::default();
    options.check_types = true;
    let inference = infer(&mut model.clone(), &options);
    if let Some(found) = inference.findings().diagnostics().first() {
        return Err(("infer", format!("{}: {}", found.locus, found.message)));
    }
    round_trips(model)
}

fn bytes_of(model: &Model) -> Result<bytes::Bytes, (&'static str, String)> {
    let encoded = encode(model, &EncodeOptions::default()).map_err(|error| ("encode", error.to_string()))?;
    Ok(encoded.into_bytes())
}

fn round_trips(model: &Model) -> Result<(), (&'static str, String)> {
    let bytes = bytes_of(model)?;
    let read = decode(bytes.clone(), &DecodeOptions::default());
    let read = read.map_err(|error| ("decode", error.to_string()))?;
    if let Some(found) = read.findings.diagnostics().first() {
        return Err(("decode", format!("{}: {}", found.locus, found.message)));
    }
    if bytes_of(&read.model)? != bytes {
        return Err(("bytes", "other bytes come back".to_owned()));
    }
    let printed = print_model(&read.model, &PrintOptions::full());
    let text = printed.map_err(|error| ("print", error.to_string()))?.text;
    let parsed = parse_model(&text, &ParseOptions::default());
    let parsed = parsed.map_err(|error| {
        let found = error.findings().diagnostics().first();
        ("parse", found.map_or_else(String::new, |found| format!("{}: {}", found.locus, found.message)))
    })?;
    if bytes_of(&parsed)? != bytes {
        return Err(("text", "other bytes come back from the text".to_owned()));
    }
    Ok(())
}
