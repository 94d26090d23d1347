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
