//! The rule `attribute-string-padded`: a string in an attribute begins with a byte order mark or ends with a NUL.

use onnx_diag::{Diagnostic, Rule, Severity};

use super::report_string;
use crate::cx::AttributeCx;
use crate::identifier::is_padded;

pub(crate) static RULE: Rule = Rule::new(
    2418,
    "attribute-string-padded",
    Severity::Warning,
    "A string in an attribute begins with a byte order mark or ends with a NUL.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("attribute_string_padded.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    // A string that is not text may begin and end with any bytes.
    let wrong = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(is_padded);
    report_string(cx, &RULE, wrong, |place, name| {
        let message =
            format!("attribute {name} holds a string that begins with a byte order mark or ends with NUL");
        Diagnostic::new(&RULE, place, message).help("write only the characters of the string")
    });
}
