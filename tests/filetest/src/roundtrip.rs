//! `#! roundtrip`: a model in canonical layout, which comes back from text and from binary unchanged.

use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

use super::Outcome;

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    if let [word, ..] = words {
        return Err(format!("`roundtrip` does not know `{word}`"));
    }
    let model = parse_model(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let printed = print(&model)?;
    let again = parse_model(&printed, &ParseOptions::default())
        .map_err(|error| format!("what is printed has errors: {error}\n{printed}"))?;
    let bytes = binary(&model)?;
    if binary(&again)? != bytes {
        return Err(format!("what is printed is another model:\n{printed}"));
    }
    let decoded = decode(bytes.into(), &DecodeOptions::default()).map_err(|error| error.to_string())?;
    if let Some(found) = decoded.findings.diagnostics().first() {
        return Err(format!("the binary model is not read without findings: {}", found.message));
    }
    let from_binary = print(&decoded.model)?;
    if from_binary != printed {
        return Err(format!("the binary model is printed otherwise:\n{from_binary}"));
    }
    Ok(Outcome { findings: Vec::new(), body: Some(printed) })
}

fn print(model: &Model) -> Result<String, String> {
    Ok(print_model(model, &PrintOptions::full()).map_err(|error| error.to_string())?.text)
}

fn binary(model: &Model) -> Result<Vec<u8>, String> {
    Ok(encode(model, &EncodeOptions::default()).map_err(|error| error.to_string())?.to_vec())
}
