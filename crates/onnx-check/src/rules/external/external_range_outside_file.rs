//! The rule `external-range-outside-file`: external data reach beyond the end of their file.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_types::tensor::checked_range;

use crate::cx::ExternalCx;

pub(crate) static RULE: Rule = Rule::new(
    2514,
    "external-range-outside-file",
    Severity::Error,
    "External data reach beyond the end of their file.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("external_range_outside_file.md"));

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let Some(Ok(size)) = cx.size else { return };
    for piece in cx.pieces.iter().filter(|piece| checked_range(piece.offset, piece.length, size).is_none()) {
        cx.report(&RULE, |places| {
            let length = piece.length.map_or_else(String::new, |length| format!("{length} bytes "));
            let message = format!(
                "the tensor takes {length}from byte {} of {}, which has {size}",
                piece.offset,
                Quoted(piece.location)
            );
            Diagnostic::new(&RULE, piece.place.locate(places).field("external_data"), message)
                .help("get the file that belongs to this model; it may have been cut or replaced")
        });
    }
}
