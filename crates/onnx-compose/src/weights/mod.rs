//! The weights of a model: initializers, and the tensors of attributes, such as those of `Constant` nodes.
//!
//! Listing them reads no elements. [`stats`] and [`compare_weights`] read them, wherever they are stored;
//! [`replace`] and [`restore`] change elements and never types or dimensions; [`strip`] removes elements.

mod anomaly;
mod compare;
mod list;
mod replace;
mod stats;
mod strip;

pub use anomaly::{Anomaly, Severity};
pub use compare::{ComparedWeight, WeightComparison, WeightDifference, compare_tensors, compare_weights};
pub use list::{Weight, weights};
pub use replace::{Replacement, WeightError, replace};
pub use stats::{Extremum, HISTOGRAM_BINS, Histogram, Stats, stats};
pub use strip::{STRIPPED_LOCATION, StripOptions, Stripped, restore, strip, stripped_seed};
