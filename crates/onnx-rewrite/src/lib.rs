//! Rewrite rules of ONNX models, written as pairs of functions, that are tested by running them.
//!
//! # Rules
//!
//! A rule replaces a computation by a cheaper one, or by any other one if it is [applied whatever it
//! costs](RuleSet::parse_whatever_cost). Its left side (`from`) and its right side (`to`) are functions in the syntax of
//! ONNX text with one signature; calls may be nested. `@p` stands for the value of an attribute. `let` computes constants at
//! rewrite time, with the operators of ONNX, from matched constants and attributes; `where` has the conditions. The comment
//! before a rule is its page.
//!
//! ```
//! use onnx_pass::{PassCx, PassOptions};
//! use onnx_rewrite::{ExamineOptions, RuleSet, examine};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = "
//! rule transpose-transpose: exact
//! from (x) => (y) {
//!     t = Transpose <perm = @p> (x)
//!     y = Transpose <perm = @q> (t)
//! }
//! let { r = Gather (@p, @q) }
//! to (x) => (y) { y = Transpose <perm = @r> (x) }
//! ";
//! let rules = RuleSet::parse(text)?;
//!
//! // The second transposition has no `perm`: it reverses the axes.
//! let model = r#"<ir_version: 10, opset_import: ["": 20]>
//! g (float[N,2,3] x) => (y) { a = Transpose <perm = [1, 0, 2]> (x) b = Transpose (a) y = Relu (b) }"#;
//! let mut model = parse_model(model, &ParseOptions::default())?;
//! let mut cx = PassCx::new(&mut model, PassOptions::default());
//! let report = rules.apply(&mut cx);
//! assert_eq!((report.edits, report.refusals.len()), (1, 0));
//! drop(cx);
//! let first = model.graph(model.main_graph()).first().unwrap();
//! assert_eq!(model.node(first).ints(onnx_schema::attr::PERM), Some([2, 0, 1].as_slice()));
//!
//! // A rule is tested on models that are generated around its left side.
//! let results = examine(&rules, &ExamineOptions::default());
//! assert!(results[0].is_fine());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Matching
//!
//! [`RuleSet::find`] returns matches as it is advanced, and [`RuleSet::why`] returns the number of nodes that match at
//! a node, and the first difference. Parameters are read by the names of the latest version of an operator, so one
//! pattern covers the versions that have them as attributes and those that have them as operands.
//!
//! [`NodePattern`] is a call without names that selects nodes: `Relu(Conv<group = 1>())`. It is parsed and matched as
//! the left side of a rule, except that everything that it omits may have any value.
//!
//! # Rewriting
//!
//! [`RuleSet::apply`] applies rules until none of them applies. Each edit is a patch of `onnx-pass`: it is proved at the level of
//! the options, and refused otherwise. Each edit lowers the cost of the model, so the application ends; rules that are read
//! by [`RuleSet::parse_whatever_cost`] replace no node that they made. [`RuleSet::pass`] makes a
//! [`Pass`](onnx_pass::Pass) of the rules, and [`RuleSet::standard`] has the rules of this crate.
//!
//! # What this crate is not for
//!
//! Edits that depend on more than a fixed number of nodes, or on analyses of the whole model, are passes of `onnx-pass`.
#![forbid(unsafe_code)]

/// The code in the guide is compiled and run with the other doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-a-rewrite-rule.md")]
struct WriteARewriteRule;

mod apply;
mod ast;
mod check;
mod condition;
mod cost;
mod effective;
mod evaluate;
mod examine;
mod fault;
mod form;
mod format;
mod functions;
mod idioms;
mod literal_types;
mod matching;
mod node_pattern;
mod operators;
mod parse;
mod pattern;
mod replace;
mod rule_set;
mod simplify;

pub use ast::Rule;
pub use cost::Costs;
pub use examine::{ExamineOptions, Examined, examine};
pub use fault::{
    COSTLY_RULE, IMPOSSIBLE_RULE, MALFORMED_RULE, RANDOM_RESULT, REFUTED_RULE, RULES, RuleFileError, position,
};
pub use format::format_rules;
pub use functions::RuleFunction;
pub use idioms::IdiomSet;
pub use matching::{RuleMatch, RuleMismatch};
pub use node_pattern::{Exhausted, NodePattern, NodePatternError};
pub use rule_set::RuleSet;
pub use simplify::{FUSIONS_PASS, RULES_PASS, SimplificationError, fused_simplification, simplification};

/// The rule files of this crate that simplify: name and text.
pub const FILES: &[(&str, &str)] = &[
    ("arithmetic", include_str!("../rules/arithmetic.onnxrules")),
    ("cast", include_str!("../rules/cast.onnxrules")),
    ("linear", include_str!("../rules/linear.onnxrules")),
    ("pad", include_str!("../rules/pad.onnxrules")),
    ("quantize", include_str!("../rules/quantize.onnxrules")),
    ("reduce", include_str!("../rules/reduce.onnxrules")),
    ("shape", include_str!("../rules/shape.onnxrules")),
    ("transpose", include_str!("../rules/transpose.onnxrules")),
];

/// The rule files of this crate that replace a computation by one operator of the standard: name and text.
pub const FUSION_FILES: &[(&str, &str)] = &[
    ("activation", include_str!("../fusions/activation.onnxrules")),
    ("attention", include_str!("../fusions/attention.onnxrules")),
    ("normalization", include_str!("../fusions/normalization.onnxrules")),
    ("softmax", include_str!("../fusions/softmax.onnxrules")),
];

/// The idioms of onnxruntime: what its graph transformers make one kernel of.
pub const ONNXRUNTIME_IDIOMS: &str = include_str!("../idioms/onnxruntime.onnxidioms");

/// The idioms of all runtimes of this crate: name and text.
pub const IDIOM_FILES: &[(&str, &str)] = &[
    ("ncnn", include_str!("../idioms/ncnn.onnxidioms")),
    ("onnxruntime", ONNXRUNTIME_IDIOMS),
    ("openvino", include_str!("../idioms/openvino.onnxidioms")),
    ("tensorrt", include_str!("../idioms/tensorrt.onnxidioms")),
];
