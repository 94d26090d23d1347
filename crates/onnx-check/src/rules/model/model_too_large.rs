//! The rule `model-too-large`: the file is larger than protobuf readers open.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};

use crate::cx::Cx;

// An error under the profile of the reference, which cannot open the file: `Profile::severities`.
pub(crate) static RULE: Rule =
    Rule::new(2009, "model-too-large", Severity::Warning, "The file is larger than protobuf readers open.")
        .with_spec("Protocol Buffers: Encoding")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("model_too_large.md"));

/// The most bytes of a message that protobuf's own libraries read.
const LIMIT: u64 = i32::MAX as u64;

pub(crate) fn check(cx: &mut Cx<'_>) {
    let Some(bytes) = cx.options.file_bytes.filter(|bytes| *bytes > LIMIT) else { return };
    cx.report(&RULE, |_| {
        let message = format!("the file has {bytes} bytes, and protobuf readers open at most {LIMIT}");
        Diagnostic::new(&RULE, Locus::model(), message)
            .help("put the weights into external data: `onnx convert IN -o OUT --weights external`")
    });
}

#[cfg(test)]
mod tests {
    use onnx_diag::Severity;

    use crate::{CheckOptions, Profile, check};

    fn severities(file_bytes: u64, profile: Profile) -> Vec<Severity> {
        let options = CheckOptions::default().with_file_bytes(file_bytes).with_profile(profile);
        let sink = check(&onnx_ir::Model::new(), &options);
        let found = sink.diagnostics().iter().filter(|found| found.rule == &super::RULE);
        found.map(|found| found.severity).collect()
    }

    #[test]
    fn files_of_two_gibibytes_are_too_large() {
        assert_eq!(severities(1 << 31, Profile::Spec), [Severity::Warning]);
        assert_eq!(severities(1 << 31, Profile::Reference), [Severity::Error]);
        for profile in [Profile::Spec, Profile::Reference] {
            assert_eq!(severities((1 << 31) - 1, profile), []);
        }
    }
}
