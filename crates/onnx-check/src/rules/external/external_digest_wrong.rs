//! The rule `external-digest-wrong`: a file of external data has another digest than the model states.

use std::collections::BTreeSet;

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

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
        });
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use onnx_diag::STOPPED;
    use onnx_types::tensor::{DataError, DataSource, ExternalData, MemoryData, Tensor};
    use onnx_types::{ElemType, Execution, Interrupt};

    use crate::testing::{Builder, check_with};
    use crate::{CheckOptions, ExternalFiles, check};

    #[test]
    fn digests_are_compared_when_asked() {
        let mut files = MemoryData::new();
        files.insert("w.bin", "abcd");
        let files = ExternalFiles::new(files);
        let with = |files| CheckOptions::default().with_external(files);
        let model = |m: &mut Builder, digest: &'static str| {
            let place = ExternalData::new("w.bin").with_checksum(digest);
            m.initializer("w", Tensor::external(ElemType::Float, [1], place).unwrap());
        };
        let place = r#"graph "g" / initializer "w" / field external_data"#;
        let wrong = "a9993e364706816aba3e25717850c26c9cd0d89d";
        let asked = with(files.clone().with_digests());
        check_with(&asked, |m| model(m, wrong), &[("ONNX2515", place)]);
        check_with(&asked, |m| model(m, "81FE8BFE87576C3ECB22426F8E57847382917ACF"), &[]);
        check_with(&with(files), |m| model(m, wrong), &[]);
    }

    /// A file of zeros that is too large to be read; the first read cancels the work.
    struct Endless(Interrupt);

    impl DataSource for Endless {
        fn read(&self, _: &str, _: u64, length: Option<u64>) -> Result<Bytes, DataError> {
            self.0.cancel();
            Ok(vec![0; length.map_or(0, |length| usize::try_from(length).unwrap())].into())
        }

        fn len(&self, _: &str) -> Result<u64, DataError> {
            Ok(u64::MAX)
        }
    }

    #[test]
    fn reading_a_file_can_be_stopped() {
        let mut m = Builder::new();
        let place = ExternalData::new("w.bin").with_checksum("00");
        m.initializer("w", Tensor::external(ElemType::Float, [1], place).unwrap());
        let interrupt = Interrupt::new();
        let options = CheckOptions::default()
            .with_external(ExternalFiles::new(Endless(interrupt.clone())).with_digests())
            .with_execution(Execution::default().with_interrupt(interrupt));
        let found = check(&m.model, &options).into_diagnostics();
        assert_eq!(found.iter().map(|found| found.rule).collect::<Vec<_>>(), [&STOPPED]);
    }
}
