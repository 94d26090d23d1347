//! ONNX files to the editable graph and back, losing nothing.
#![deny(unsafe_code)]

mod decode;
mod error;
mod limits;
pub mod rules;

pub use decode::{DecodeOptions, Decoded, decode};
pub use error::DecodeError;
pub use limits::Limits;
