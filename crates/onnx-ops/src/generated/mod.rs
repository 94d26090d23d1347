//! The operators: a type and a builder for each operator name.
//!
//! Operators of the default domain are here; the other domains have a module each.

#[expect(clippy::too_many_arguments, reason = "operators have as many operands")]
pub mod ml;
#[expect(clippy::too_many_arguments, reason = "operators have as many operands")]
mod onnx;
pub mod preview;
#[expect(clippy::too_many_arguments, reason = "operators have as many operands")]
pub mod training;

pub use onnx::*;
