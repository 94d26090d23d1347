//! Conversion of models to newer versions of operator sets.
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
//! # How it works
//!
//! [`STEPS`] lists every version that changes an operator, and its [`Kind`]. A node is taken through the steps of its operator
//! one by one; nodes that a step makes have the version of the step and take the following steps, too. What only allows more
//! models needs no change. Attributes that become operands become constants. Other changes of the semantics have a function
//! each, in a file with the same path as that of inference: `steps/math/softmax.rs`.
//!
//! A function of the model is converted from the versions that it imports to the version of the model, as inlining and several
//! runtimes require. Operators of other domains stay as they are.

#![forbid(unsafe_code)]

mod convert;
pub mod rules;
mod step;
mod steps;
mod table;

pub use convert::{ConvertOptions, Converted, Refusal, VersionError, convert};
pub use step::Reason;
pub use table::{Kind, STEPS, Versions};
