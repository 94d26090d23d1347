//! Composition of models: parts of a model become models.
//!
//! Weights are shared and never read, so the size of a model does not matter. Every operation keeps functions, metadata,
//! declared types and the names of the interface, and either leaves a valid model or refuses and leaves the model unchanged.
//!
//! # Extract
//!
//! [`extract`] makes a model of the part between values, [`extract_nodes`] of some nodes. If the given inputs do not suffice
//! to compute the outputs, every path that bypasses them is reported:
//!
//! ```
//! use onnx_compose::{ComposeError, ExtractOptions, extract};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 4] x, float[N, 4] bias) => (float[N, 4] y) {
//!    a = Relu (x)
//!    b = Exp (a)
//!    y = Add (b, bias)
//! }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let graph = model.main_graph();
//! let [a, y] = ["a", "y"].map(|name| model.find_value(graph, name).expect("it is in the text"));
//!
//! let refused = extract(&mut model, Some(&[a]), &[y], &ExtractOptions::default());
//! assert_eq!(refused.unwrap_err().to_string(), "an output depends on `bias`, which is not cut off: bias -> y");
//!
//! let bias = model.find_value(graph, "bias").expect("it is an input");
//! extract(&mut model, Some(&[a, bias]), &[y], &ExtractOptions::default())?;
//! assert_eq!(model.node_count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The type of a value that becomes an input or output is the declared one, or that of inference.

#![forbid(unsafe_code)]

mod diff;
mod error;
mod extract;
mod hash;
mod interface;
pub mod rules;

pub use diff::{Aspect, AspectKind, Change, ChangeKind, Diff, DiffOptions, Element, diff};
pub use error::{ComposeError, Uncovered};
pub use extract::{ExtractOptions, Extracted, extract, extract_nodes};
pub use hash::{
    Digest, HASH_VERSION, HashError, HashOptions, ModelHash, hash_interface, hash_model, hash_structure,
    hash_weights,
};
