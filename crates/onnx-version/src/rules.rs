//! Rules of conversions: 4xxx.

use onnx_diag::{Rule, Severity};

/// A node has no equivalent in the version that was asked for.
pub static CONVERSION_REFUSED: Rule = Rule::new(
    4007,
    "conversion-refused",
    Severity::Error,
    "A node cannot be converted to another version of its operator set.",
)
.with_explain(include_str!("rules/conversion-refused.md"));

/// The rules, by ascending code.
pub static ALL: &[&Rule] = &[&CONVERSION_REFUSED];
