//! Facts about every ONNX operator at every version, as constant tables.
#![forbid(unsafe_code)]

mod generated;

pub use generated::names::{attr, domain, op};

use onnx_types::Interner;

/// An interner that starts with the names ONNX knows, so that the constants of [`op`], [`attr`] and [`domain`] are its
/// symbols.
///
/// ```
/// let names = onnx_schema::interner();
/// assert_eq!(names.get("Relu"), Some(onnx_schema::op::RELU));
/// assert_eq!(names.resolve(onnx_schema::attr::AXIS), "axis");
/// ```
#[must_use]
pub fn interner() -> Interner {
    Interner::with_names(&generated::names::NAMES)
}
