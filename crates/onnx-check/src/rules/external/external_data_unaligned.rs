//! The rule `external-data-unaligned`: the offset of external data is not a multiple of the page size.

use crate::cx::ExternalCx;
use crate::external::Piece;
use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2517,
    "external-data-unaligned",
    Severity::Note,
    "The offset of external data is not a multiple of the page size.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("external_data_unaligned.md"));

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let mut pieces = cx.pieces.iter().filter(|piece| is_unaligned(piece));
    let Some(first) = pieces.next() else { return };
    let count = pieces.count().saturating_add(1);
    cx.report(&RULE, |places| {
        let location = Quoted(first.location);
        let subject = match count {
            1 => "the offset of a large tensor".to_owned(),
            _ => format!("the offsets of {count} large tensors"),
        };
        let verb = if count == 1 { "is not a multiple" } else { "are not multiples" };
        let message = format!("{subject} in {location} {verb} of {PAGE}");
        Diagnostic::new(&RULE, first.place.locate(places).field("external_data"), message)
            .help("`onnx convert IN -o OUT --weights external --align 4096` aligns them")
    });
}

/// The bytes of a page.
const PAGE: u64 = 4096;

/// The bytes from which on a tensor is large: those that are mapped for themselves, as `ExternalizeOptions::large_from` of the codec
/// and onnxruntime's writer have it. Below, a copy costs less than the rest of a page.
const LARGE: u64 = 1 << 20;

/// Whether a piece begins inside of a page and is so large that it matters. No file has the elements of stripped weights.
fn is_unaligned(piece: &Piece<'_>) -> bool {
    let is_large = matches!(piece.length, Some(length) if length >= LARGE);
    is_large && !piece.offset.is_multiple_of(PAGE) && !piece.is_stripped()
}
