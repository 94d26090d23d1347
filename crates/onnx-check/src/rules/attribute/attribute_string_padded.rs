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

#[cfg(test)]
mod tests {
    use onnx_ir::AttrValue;

    use crate::rules::attribute::tests::{PLACE, with_strings};
    use crate::testing::check_model;

    #[test]
    fn strings_hold_their_characters_alone() {
        for wrong in ["\u{feff}a", "a\0", "\0"] {
            check_model(|m| with_strings(m, wrong.into()), &[("ONNX2418", PLACE)]);
        }
        for right in ["", "a", "a\0b", "a\u{feff}"] {
            check_model(|m| with_strings(m, right.into()), &[]);
        }
        let list = |strings: [&'static str; 2]| AttrValue::Strings(strings.map(bytes::Bytes::from).to_vec());
        let element = format!("{PLACE} / element 1");
        check_model(|m| with_strings(m, list(["a", "b\0"])), &[("ONNX2418", &element)]);
        check_model(|m| with_strings(m, list(["a", "b"])), &[]);
    }
}
