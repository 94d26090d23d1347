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

#[cfg(test)]
mod tests {
    use onnx_types::ElemType;
    use onnx_types::tensor::{ExternalData, MemoryData, Tensor};

    use crate::testing::{Builder, check_with};
    use crate::{CheckOptions, ExternalFiles};

    #[test]
    fn ranges_are_inside() {
        let mut files = MemoryData::new();
        files.insert("w.bin", vec![0; 8]);
        let options = CheckOptions::default().with_external(ExternalFiles::new(files));
        let model = |m: &mut Builder, offset, length: Option<u64>| {
            let place = ExternalData::new("w.bin").with_offset(offset);
            let place = match length {
                Some(length) => place.with_length(length),
                None => place,
            };
            m.initializer("w", Tensor::external(ElemType::Float, [1], place).unwrap());
        };
        let place = r#"graph "g" / initializer "w" / field external_data"#;
        for (offset, length) in [(5, Some(4)), (5, None), (u64::MAX, Some(4)), (9, None)] {
            check_with(&options, |m| model(m, offset, length), &[("ONNX2514", place)]);
        }
        check_with(&options, |m| model(m, 4, Some(4)), &[]);
        check_with(&options, |m| model(m, 4, None), &[]);
    }
}
