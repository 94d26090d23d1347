//! The weights of a model: initializers, and the tensors of attributes, such as those of `Constant` nodes.
//!
//! Listing them reads no elements. [`compare_weights`] reads them, wherever they are stored, as [`Statistics`](onnx_eval::Statistics)
//! do, of which [`anomalies`] are found. [`replace`] and [`restore`] change elements and never types or dimensions; [`strip`] removes elements.

mod anomaly;
mod compare;
mod list;
mod replace;
mod strip;

pub use anomaly::{Anomaly, AnomalySeverity, anomalies, anomaly_order};
pub use compare::{ComparedWeight, WeightComparison, WeightDifference, compare_tensors, compare_weights};
pub use list::{Weight, weights};
pub use replace::{Replacement, WeightError, replace};
pub use strip::{STRIPPED_LOCATION, StripOptions, Stripped, restore, strip, stripped_seed};
