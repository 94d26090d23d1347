//! The part of the suite `text` that asks the reference itself: it must read what is printed for it.
//!
//! * The reference accepts the text, and takes it for the message that the parser here takes it for.
//! * Where nothing was left out or stored otherwise, that is the message that was printed, but for fields that hold their
//!   default.
//!
//! Without the reference at hand, the part is left out with a remark.

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use prost_reflect::{DynamicMessage, prost::Message as _};

use super::text::{refused, write};
use crate::conformance::reference::{Answer, Reference};
use crate::conformance::report::Failure;
use crate::conformance::runner::Outcome;

/// Texts above this size, in bytes, are not given to the reference.
const LARGE: usize = 16 << 20;

/// Prints the model in a file as the reference's syntax has it, and lets the reference parse it.
pub(super) fn check(
    reference: &Reference,
    bytes: &Bytes,
    message: impl Fn(&[u8]) -> Result<DynamicMessage, Failure>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    if let Some(reason) = reference.absent() {
        outcome.remarks.push(format!("the reference was not asked: {reason}"));
        return Ok(());
    }
    let Ok(decoded) = decode(bytes.clone(), &DecodeOptions::default()) else { return Ok(()) };
    let printed = print_model(&decoded.model, &PrintOptions::compat())
        .map_err(|error| Failure::new("not-printed", error.to_string()))?;
    if printed.text.len() > LARGE {
        outcome.counts.push("compat too large".to_owned());
        return Ok(());
    }
    let answer =
        reference.ask(printed.text.as_bytes()).map_err(|error| Failure::new("compat-crash", error))?;
    let theirs = match answer {
        Answer::Message(bytes) => message(&bytes)?,
        Answer::Refused(complaint) => {
            let complaint = complaint.lines().take(4).collect::<Vec<_>>().join(" / ");
            return Err(Failure::new("compat-refused-by-reference", complaint));
        }
    };
    let parsed = parse_model(&printed.text, &ParseOptions::default())
        .map_err(|error| refused("compat", &error, &printed.text))?;
    same("compat-parsed-otherwise", &message(&write(&parsed)?)?, &theirs)?;
    if printed.left_out.diagnostics().is_empty() && decoded.findings.diagnostics().is_empty() {
        same("compat-differs", &message(bytes)?, &theirs)?;
        outcome.counts.push("compat equal".to_owned());
    } else {
        outcome.counts.push("compat with losses".to_owned());
    }
    Ok(())
}

fn same(kind: &str, ours: &DynamicMessage, theirs: &DynamicMessage) -> Result<(), Failure> {
    if ours.encode_to_vec() == theirs.encode_to_vec() {
        return Ok(());
    }
    let (ours, theirs) = (ours.to_text_format(), theirs.to_text_format());
    let common = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let from = text.floor_char_boundary(common.saturating_sub(60));
        let to = text.floor_char_boundary(common.saturating_add(120));
        text.get(from..to).unwrap_or_default().to_owned()
    };
    Err(Failure::new(kind, format!("\n  ours …{}\ntheirs …{}", around(&ours), around(&theirs))))
}
