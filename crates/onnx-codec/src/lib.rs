//! ONNX files to the editable graph and back, losing nothing.
#![deny(unsafe_code)]

mod decode;
mod error;
pub mod file;
mod limits;
mod mmap;
pub mod rules;
pub mod source;

pub use decode::{DecodeOptions, Decoded, decode};
pub use error::DecodeError;
pub use file::{FileError, ReadMode};
pub use limits::Limits;
pub use source::{Checksum, Containment, FileSource, SourceNote, verify_checksum};
