//! The rule `external-digest-wrong`: a file of external data has another digest than the model states.

use std::collections::BTreeSet;

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_types::tensor::DataError;

use crate::cx::ExternalCx;

pub(crate) static RULE: Rule = Rule::new(
    2515,
    "external-digest-wrong",
    Severity::Error,
    "A file of external data has another digest than the model states.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("external_digest_wrong.md"));

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let Some(found) = cx.digest.take() else { return };
    let (location, pieces) = (cx.first.location, cx.pieces);
    let mut told = BTreeSet::new();
    for piece in pieces {
        let Some(stated) = piece.checksum.filter(|&stated| told.insert(stated)) else { continue };
        if matches!(&found, Ok(found) if found.eq_ignore_ascii_case(stated)) {
            continue;
        }
        let limit = found.as_ref().err().and_then(DataError::limit);
        if let Some(limit) = limit {
            cx.cx.exceed(&RULE, limit);
        }
        cx.report(&RULE, |places| {
            let message = match &found {
                Ok(found) => {
                    let stated = Quoted(stated);
                    format!("{} has the digest `{found}`, but the model states {stated}", Quoted(location))
                }
                Err(error) => error.to_string(),
            };
            Diagnostic::new(&RULE, piece.place.locate(places).field("external_data"), message)
                .help("get the file that belongs to this model, or remove `checksum`")
                .because_of_limit(limit)
        });
    }
}
