//! Conversion of models between versions of operator sets.
//!
//! A version of an operator set changes some of its operators: it allows other types, makes an attribute an operand, or gives
//! the same node another meaning. [`convert`] changes the nodes of a model so that it computes the same with the new version,
//! or reports every node that has no equivalent, each with the reason. A model is never converted in part.
//!
//! ```
//! use onnx_text::{ParseOptions, parse_model};
//! use onnx_version::{ConvertOptions, convert};
//!
//! let text = r#"<ir_version: 7, opset_import: ["": 12]>
//! g (float[2, 1, 3] x) => (float[2, 3] y) { y = Squeeze <axes = [1]> (x) }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let converted = convert(&mut model, 13, &ConvertOptions::default())?;
//! assert_eq!(converted.changed, 1);
//! let squeeze = model.nodes(model.main_graph()).last().map(|node| model.node(node));
//! assert_eq!(squeeze.map(|node| node.input_count()), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Both directions
//!
//! A newer version mostly allows more, so most nodes are unchanged upwards, and downwards if their types are allowed.
//! Types, ranks and constants are those of inference; what is not known is never assumed. Refusals have a [`Cause`],
//! and tell what helps. [`plan`] returns what a conversion would do, [`lowest`] how far a model can go.
//!
//! ```
//! use onnx_text::{ParseOptions, parse_model};
//! use onnx_version::{Cause, StepChange, ConvertOptions, lowest, plan};
//!
//! let text = r#"<ir_version: 8, opset_import: ["": 17]>
//! g (float[2, 3] x, float[3] scale) => (float[2, 3] y) {
//!   n = LayerNormalization (x, scale)
//!   y = Erf (n)
//! }"#;
//! let model = parse_model(text, &ParseOptions::default())?;
//! let options = ConvertOptions::default();
//! // The standard defines `LayerNormalization` by operators that version 13 has.
//! assert_eq!(plan(&model, 13, &options)?.count(StepChange::Expanded), 1);
//! // `Erf` came with version 9, and nothing else computes it.
//! let reach = lowest(&model, &options)?;
//! assert_eq!(reach.version, 9);
//! assert_eq!(reach.refusals.first().map(|refusal| refusal.reason.cause()), Some(Cause::NoForm));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! [`STEPS`] lists every version that changes an operator, and what a node needs upwards ([`VersionChange`]) and downwards ([`Down`]).
//! All nodes of the model pass the versions together, one after the other, and so do the nodes that a step makes. Attributes
//! that become operands become constants, and constants attributes. Other changes of the semantics have a function each, in a
//! file with the same path as that of inference: `steps/math/softmax.rs`. If an older version does not have an operator, the
//! body that the standard gives it takes its place.
//!
//! A function of the model is converted from the versions that it imports to the version of the model, as inlining and several
//! runtimes require; [`ConvertFunctions`] converts functions for the inliner. Operators of other domains are unchanged.
//! [`set_ir_version`] changes the version of the format.

#![forbid(unsafe_code)]

mod allowed;
mod claims;
mod convert;
mod down;
mod engine;
mod identity;
mod imports;
mod inline;
mod ir_version;
mod outputs;
mod plan;
mod precondition;
mod reason;
mod results;
pub mod rules;
mod sparse;
mod step;
mod steps;
mod table;
mod types;
mod up;

pub use claims::{Claim, claims};
pub use convert::{ConvertOptions, Converted, VersionError, convert, findings, raised_ir_version};
pub use imports::imported_version;
pub use inline::ConvertFunctions;
pub use ir_version::{constant_node, set_ir_version};
pub use plan::{Plan, Reach, StepChange, StepRecord, Unconvertible, lowest, nearest, plan};
pub use precondition::{ImportCorrection, correct_import, set_import};
pub use reason::{Cause, VersionReason};
pub use table::{Down, STEPS, VersionChange, Versions};
