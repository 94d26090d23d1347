//! The rule `external-ranges-overlap`: two tensors share part of their bytes in a file.

use crate::cx::ExternalCx;
use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2516,
    "external-ranges-overlap",
    Severity::Note,
    "Two tensors share part of their bytes in a file.",
)
.with_spec("IR: External Tensor Data")
.with_explain(include_str!("external_ranges_overlap.md"));

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let mut ranges: Vec<_> =
        cx.pieces.iter().filter_map(|piece| piece.range().map(|range| (range, piece))).collect();
    // The sort is stable, so tensors of one range stay in the order of the traversal.
    ranges.sort_by_key(|&(range, _)| range);
    // Tensors that are the same bytes share them on purpose.
    ranges.dedup_by_key(|&mut (range, _)| range);
    let mut ranges = ranges.into_iter();
    let Some(mut widest) = ranges.next() else { return };
    for (range, piece) in ranges {
        let ((_, end), other) = widest;
        if range.0 < end {
            cx.report(&RULE, |places| {
                let shared = end.min(range.1).saturating_sub(range.0);
                let location = Quoted(piece.location);
                let message = format!("the tensor shares {shared} bytes of {location} with another one");
                Diagnostic::new(&RULE, piece.place.locate(places).field("external_data"), message)
                    .label(other.place.locate(places), "this one")
                    .help("check `offset` and `length`; one of them is probably wrong")
            });
        }
        if range.1 > end {
            widest = (range, piece);
        }
    }
}
