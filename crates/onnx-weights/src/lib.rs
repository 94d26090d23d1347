//! The weights of a model: initializers, and the tensors of attributes, such as those of `Constant` nodes.
//!
//! Listing them reads no elements. [`compare_weights`] reads them, wherever they are stored, as [`Statistics`](onnx_eval::Statistics)
//! do, of which [`anomalies`] are found. [`replace`] and [`restore`] change elements and never types or dimensions; [`replacements`] are
//! those of another model; [`strip`] removes elements.
//!
//! ```
//! use onnx_text::{ParseOptions, parse_model};
//! use onnx_types::tensor::Tensor;
//! use onnx_weights::{Replacement, replace, weights};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Add (x, w) }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! assert_eq!(weights(&model)[0].name, "w");
//! replace(&mut model, vec![Replacement::new("w", Tensor::vector(&[3.0_f32, 4.0]))])?;
//! let refused = replace(&mut model, vec![Replacement::new("w", Tensor::vector(&[3_i64, 4]))]);
//! assert_eq!(refused.unwrap_err().to_string(), "`w` has the type float[2], but its replacement int64[2]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`safetensors`] reads and lays out files of that format.
#![forbid(unsafe_code)]

mod anomaly;
mod compare;
mod list;
mod replace;
pub mod safetensors;
mod strip;

pub use anomaly::{Anomaly, AnomalySeverity, anomalies, anomaly_order};
pub use compare::{ComparedWeight, WeightComparison, WeightDifference, compare_tensors, compare_weights};
pub use list::{Weight, weights};
pub use replace::{Replacement, WeightError, replace, replacements, replacements_for, stripped_names};
pub use strip::{STRIPPED_LOCATION, StripOptions, Stripped, is_stripped, restore, strip, stripped_seed};
