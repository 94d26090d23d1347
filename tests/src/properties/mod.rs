//! What holds for every input, as functions of bytes: a fuzzer calls them, and so does `cargo test`.
//!
//! | Module | Properties |
//! |---|---|
//! | [`decode`] | reading files: `decode`, `decode_encode`, `decode_prost` |
//! | [`text`] | the text syntax: `text_parse`, `text_roundtrip` |
//! | [`forms`] | protobuf's text and JSON: `forms` |
//! | [`check`] | the checker: `check` |
//! | [`infer`] | inference: `infer` |
//! | [`eval`] | runs: `eval` |
//! | [`edits`] | scripts of edits: `edit_scripts` |
//! | [`external`] | directories of external data: `external_data` |
//! | [`rules`] | rule files and the rules in them: `rules` |
//! | [`smith`] | models that the bytes choose: `smith` |
//!
//! A property takes any bytes and panics for none of them; what does not hold is an error in words. [`seeds`] gives inputs
//! to start from, [`mutate`] makes others of them, and [`regressions`] holds what fuzzers once found.

pub mod bodies;
pub mod check;
pub mod decode;
pub mod edits;
pub mod eval;
pub mod external;
pub mod forms;
pub mod infer;
pub mod mutate;
pub mod regressions;
pub mod rules;
pub mod seeds;
pub mod smith;
pub mod text;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, EncodeError, EncodeOptions};
use onnx_diag::Sink;
use onnx_ir::{FaultKind, Model};

use onnx_hostile::gauntlet::printable;

/// What holds for every input.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// What it is called, as the target of the fuzzer.
    pub name: &'static str,
    /// Says what does not hold for these bytes.
    pub check: fn(&[u8]) -> Result<(), String>,
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many mutations `cargo test` tries: about a second's worth.
    pub smoke: u64,
}

/// All properties, in the order in which the fuzzer runs them.
pub const ALL: [Property; 13] = [
    Property { name: "decode", check: decode::decode, seeds: seeds::models, smoke: 3000 },
    Property { name: "decode_encode", check: decode::decode_encode, seeds: seeds::models, smoke: 2000 },
    Property { name: "decode_prost", check: decode::decode_prost, seeds: seeds::models, smoke: 400 },
    Property { name: "text_parse", check: text::text_parse, seeds: seeds::texts, smoke: 1500 },
    Property {
        name: "text_roundtrip",
        check: text::text_roundtrip,
        seeds: seeds::texts_and_models,
        smoke: 300,
    },
    Property { name: "check", check: check::check, seeds: seeds::models_and_texts, smoke: 500 },
    Property { name: "infer", check: infer::infer, seeds: seeds::models_and_texts, smoke: 500 },
    Property { name: "eval", check: eval::eval, seeds: seeds::runs, smoke: 1000 },
    Property { name: "edit_scripts", check: edits::edit_scripts, seeds: seeds::scripts, smoke: 400 },
    Property { name: "external_data", check: external::external_data, seeds: seeds::scripts, smoke: 400 },
    Property { name: "forms", check: forms::forms, seeds: seeds::forms, smoke: 4000 },
    Property { name: "rules", check: rules::rules, seeds: seeds::rules_and_scripts, smoke: 60 },
    Property { name: "smith", check: smith::smith, seeds: seeds::noise, smoke: 40 },
];

/// The property of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Property> {
    ALL.iter().find(|property| property.name == name)
}

/// What a fuzz target does with its input.
///
/// # Panics
///
/// Panics if the property does not exist, or does not hold.
#[expect(clippy::panic, reason = "a fuzzer learns of a finding by a panic")]
pub fn fuzz(name: &str, bytes: &[u8]) {
    let Some(property) = find(name) else { panic!("there is no property `{name}`") };
    if let Err(failure) = (property.check)(bytes) {
        panic!("{name} does not hold: {failure}");
    }
}

/// The file of a model; `None` where the model says more than a file can, such as graphs deeper than readers accept.
fn write(model: &Model) -> Result<Option<Bytes>, String> {
    match onnx_codec::encode(model, &EncodeOptions::default()) {
        Ok(segments) => Ok(Some(segments.into_bytes())),
        Err(EncodeError::TooDeep { .. } | EncodeError::SplatTooLarge { .. }) => Ok(None),
        // Only texts that are read for it have such tensors, and the properties read none.
        Err(error) => Err(error.to_string()),
    }
}

/// The model in a file, or in a text: seeds of both kinds lead to the same places.
fn model_of(bytes: &[u8]) -> Option<Model> {
    let file = Bytes::copy_from_slice(bytes);
    if let Ok(decoded) = onnx_codec::decode(file, &DecodeOptions::default()) {
        return Some(decoded.model);
    }
    onnx_text::parse_model(bytes, &onnx_text::ParseOptions::default()).ok()
}

/// The arenas of a model fit together; edits may leave values where their users cannot see them.
fn sound(model: &Model, when: &str, visible: bool) -> Result<(), String> {
    let Err(faults) = model.verify() else { return Ok(()) };
    let broken = faults.iter().find(|fault| visible || fault.kind != FaultKind::Visibility);
    broken.map_or(Ok(()), |fault| Err(format!("{when}, the model is unsound: {fault}")))
}

/// All findings as texts, which must be fit for a terminal.
fn findings(sink: &Sink) -> Result<Vec<String>, String> {
    printable(sink)?;
    let text =
        |found: &onnx_diag::Diagnostic| format!("{} {}: {}", found.rule.id(), found.locus, found.message);
    Ok(sink.diagnostics().iter().map(text).collect())
}

/// Fails with a reason unless two values are equal.
fn equal<T: PartialEq>(ours: &T, theirs: &T, what: &str) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(what.to_owned()) }
}
