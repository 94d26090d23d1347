//! Rules of composition: 4xxx; of targets: 51xx.

use onnx_diag::{Rule, Severity};

/// The inputs of an extracted part do not suffice to compute its outputs.
pub static PATH_NOT_CUT: Rule = Rule::new(
    4008,
    "path-not-cut",
    Severity::Error,
    "An output of the part depends on an input of the model that is not an input of the part.",
)
.with_explain(include_str!("rules/path-not-cut.md"));

/// A value that would become an input or output has no known type.
pub static BOUNDARY_TYPE_UNKNOWN: Rule = Rule::new(
    4009,
    "boundary-type-unknown",
    Severity::Error,
    "A value that becomes an input or output of a model has no known type.",
)
.with_explain(include_str!("rules/boundary-type-unknown.md"));

/// The models cannot be composed or edited as requested.
pub static COMPOSITION_REFUSED: Rule = Rule::new(
    4010,
    "composition-refused",
    Severity::Error,
    "A part of the request contradicts the model, or would leave an invalid one.",
)
.with_explain(include_str!("rules/composition-refused.md"));

/// Two elements would have the same name.
pub static NAMES_COLLIDE: Rule = Rule::new(
    4030,
    "names-collide",
    Severity::Error,
    "A new name is the name of another element of the model.",
)
.with_explain(include_str!("rules/names-collide.md"));

/// A size cannot be changed.
pub static SIZE_IS_FIXED: Rule = Rule::new(
    4031,
    "size-is-fixed",
    Severity::Error,
    "The model works for one size only, which a constant or a node fixes.",
)
.with_explain(include_str!("rules/size-is-fixed.md"));

/// A model needs a feature that a runtime lacks.
pub static TARGET_LACKS_FEATURE: Rule = Rule::new(
    5101,
    "target-lacks-feature",
    Severity::Error,
    "The model needs an operator, a version or an element type that the target lacks.",
)
.with_explain(include_str!("rules/target-lacks-feature.md"));

/// The rules, by ascending code.
pub static ALL: &[&Rule] = &[
    &PATH_NOT_CUT,
    &BOUNDARY_TYPE_UNKNOWN,
    &COMPOSITION_REFUSED,
    &NAMES_COLLIDE,
    &SIZE_IS_FIXED,
    &TARGET_LACKS_FEATURE,
];
