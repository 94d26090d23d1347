//! The rule `external-file-unreadable`: a file of external data is missing or cannot be opened.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::tensor::{DataError, DataErrorReason};

use crate::cx::ExternalCx;

pub(crate) static RULE: Rule = Rule::new(
    2513,
    "external-file-unreadable",
    Severity::Error,
    "A file of external data is missing or cannot be opened.",
)
.with_spec("IR: External Tensor Data")
.with_reference(Reference::Partly)
.with_explain(include_str!("external_file_unreadable.md"));

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let (first, others) = (cx.first, cx.pieces.len().saturating_sub(1));
    let is_unchecked = cx.pieces.iter().all(|piece| piece.is_unchecked);
    // Another rule reports ranges that are not inside the file.
    let is_reported = |error: &DataError| matches!(error.reason, DataErrorReason::OutOfRange { .. });
    let error = match cx.size.clone() {
        None => return,
        Some(Err(error)) => Some(error),
        Some(Ok(_)) => cx.unread.take().filter(|error| !is_reported(error)),
    };
    let Some(error) = error else { return };
    let is_of_file = cx.size.as_ref().is_some_and(Result::is_err);
    if let Some(limit) = error.limit() {
        cx.cx.exceed(&RULE, limit);
    }
    // In the reference these stand for arrays in the memory of its process.
    let is_in_process = first.location.starts_with('#');
    cx.report(&RULE, |places| {
        let is_enforced = matches!(
            error.reason,
            DataErrorReason::NotFound | DataErrorReason::Refused(_) | DataErrorReason::Limit { .. }
        );
        let place = first.place.locate(places).field("external_data");
        let help = match first.is_stripped() {
            _ if error.limit().is_some() => "raise the limit if the file can be trusted",
            true => {
                "the weights were stripped: `onnx weights import` puts them back or, with `--generate`, others in their place; \
                 `onnx run` generates them"
            }
            false => {
                "put the file where `location` states, relative to the directory of the model; it is part of the model"
            }
        };
        let found = Diagnostic::new(&RULE, place, error.to_string())
            .help(help)
            .because_of_limit(error.limit())
            .beyond_reference(is_unchecked || is_in_process || !is_enforced || !is_of_file);
        if others == 0 {
            found
        } else {
            found.note(format!("{others} more tensors have their elements there"))
        }
    });
}
