//! Rewrite rules that are executable: pairs of functions, found in models, replaced with a proof, and tested by running them.
#![forbid(unsafe_code)]

mod ast;
mod check;
mod condition;
mod cost;
mod effective;
mod evaluate;
mod examine;
mod fault;
mod form;
mod matching;
mod parse;
mod replace;
mod rule_set;

pub use ast::Rule;
pub use examine::{ExamineOptions, Examined, examine};
pub use fault::{IMPOSSIBLE_RULE, MALFORMED_RULE, REFUTED_RULE, RULES, RuleFileError};
pub use matching::{Difference, Match};
pub use rule_set::RuleSet;

/// The rule files of this crate: name and text.
pub const FILES: &[(&str, &str)] = &[
    ("arithmetic", include_str!("../rules/arithmetic.onnxrules")),
    ("cast", include_str!("../rules/cast.onnxrules")),
    ("linear", include_str!("../rules/linear.onnxrules")),
    ("quantize", include_str!("../rules/quantize.onnxrules")),
    ("reduce", include_str!("../rules/reduce.onnxrules")),
    ("shape", include_str!("../rules/shape.onnxrules")),
    ("transpose", include_str!("../rules/transpose.onnxrules")),
];
