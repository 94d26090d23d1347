//! The rule `external-digest-wrong`: a file of external data has another digest than the model states.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;

use onnx_types::tensor::{DataError, DataSource};
use sha1::{Digest, Sha1};

use crate::cx::ExternalCx;

pub(crate) static RULE: Rule = Rule {
    code: 2515,
    slug: "external-digest-wrong",
    severity: Severity::Error,
    summary: "A file of external data has another digest than the model states.",
    spec: "IR: External Tensor Data",
    reference: Reference::NotEnforced,
    explain: include_str!("external_digest_wrong.md"),
};

pub(crate) fn check(cx: &mut ExternalCx<'_, '_>) {
    let Some(files) = cx.options.external.as_ref().filter(|files| files.digests()) else { return };
    let (location, pieces) = (cx.first.location, cx.pieces);
    let Some(Ok(size)) = cx.size else { return };
    if pieces.iter().all(|piece| piece.checksum.is_none()) {
        return;
    }
    let found = digest(files.source(), location, size);
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

/// How much of a file is looked at at once.
const STEP: u64 = 4 << 20;

/// The SHA-1 digest of a file in lower-case hexadecimal.
fn digest(source: &dyn DataSource, location: &str, size: u64) -> Result<String, DataError> {
    let mut digest = Sha1::new();
    let mut offset = 0;
    while offset < size {
        let step = STEP.min(size.saturating_sub(offset));
        digest.update(source.read(location, offset, Some(step))?);
        offset = offset.saturating_add(step);
    }
    Ok(digest.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use onnx_types::ElemType;
    use onnx_types::tensor::{ExternalData, MemoryData, Tensor};

    use crate::testing::{Builder, check_with};
    use crate::{CheckOptions, ExternalFiles};

    #[test]
    fn digests_are_compared_when_asked() {
        let mut files = MemoryData::new();
        files.insert("w.bin", "abcd");
        let files = ExternalFiles::new(files);
        let with = |files| CheckOptions { external: Some(files), ..CheckOptions::default() };
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
}
