//! The rule `attribute-not-utf8`: a string in an attribute is not UTF-8.

use onnx_diag::{Diagnostic, Rule, Severity};

use super::report_string;
use crate::cx::AttributeCx;

pub(crate) static RULE: Rule =
    Rule::new(2410, "attribute-not-utf8", Severity::Warning, "A string in an attribute is not UTF-8.")
        .with_spec("IR: Attributes")
        .with_explain(include_str!("attribute_not_utf8.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let wrong = |bytes: &[u8]| std::str::from_utf8(bytes).is_err();
    report_string(cx, &RULE, wrong, |place, name| {
        Diagnostic::new(&RULE, place, format!("attribute {name} holds a string that is not UTF-8"))
            .help("write text as UTF-8, and bytes as a tensor")
    });
}
