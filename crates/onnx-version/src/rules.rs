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

/// A version allows fewer types, and that of a value is not known.
pub static CONVERSION_TYPE_UNKNOWN: Rule = Rule::new(
    4041,
    "conversion-type-unknown",
    Severity::Error,
    "A node cannot be converted, as the type of a value is unknown.",
)
.with_explain(include_str!("rules/conversion-type-unknown.md"));

/// A version does not allow the type of a value.
pub static CONVERSION_TYPE_NOT_ALLOWED: Rule = Rule::new(
    4042,
    "conversion-type-not-allowed",
    Severity::Error,
    "A node cannot be converted, as the version does not allow the type of a value.",
)
.with_explain(include_str!("rules/conversion-type-not-allowed.md"));

/// An operand that becomes an attribute is not constant.
pub static CONVERSION_NOT_CONSTANT: Rule = Rule::new(
    4043,
    "conversion-not-constant",
    Severity::Error,
    "A node cannot be converted, as an operand is not constant.",
)
.with_explain(include_str!("rules/conversion-not-constant.md"));

/// An operand that becomes an attribute is the default of an input.
pub static CONVERSION_OVERRIDABLE: Rule = Rule::new(
    4044,
    "conversion-overridable",
    Severity::Error,
    "A node cannot be converted, as callers can override an operand.",
)
.with_explain(include_str!("rules/conversion-overridable.md"));

/// The version does not have the operator, and nothing else computes the same.
pub static CONVERSION_NO_FORM: Rule = Rule::new(
    4045,
    "conversion-no-form",
    Severity::Error,
    "The version does not have an operator, and no others compute the same.",
)
.with_explain(include_str!("rules/conversion-no-form.md"));

/// A node is not valid in the version from which it would be converted.
pub static CONVERSION_INVALID_NODE: Rule = Rule::new(
    4046,
    "conversion-invalid-node",
    Severity::Error,
    "A node cannot be converted, as it is not valid in the imported version.",
)
.with_explain(include_str!("rules/conversion-invalid-node.md"));

/// The rules, by ascending code.
pub static ALL: &[&Rule] = &[
    &CONVERSION_REFUSED,
    &CONVERSION_TYPE_UNKNOWN,
    &CONVERSION_TYPE_NOT_ALLOWED,
    &CONVERSION_NOT_CONSTANT,
    &CONVERSION_OVERRIDABLE,
    &CONVERSION_NO_FORM,
    &CONVERSION_INVALID_NODE,
];
