//! ONNX files to the editable graph and back, losing nothing.
#![deny(unsafe_code)]

mod decode;
mod encode;
mod error;
pub mod externalize;
pub mod file;
pub mod formats;
mod limits;
mod mmap;
pub mod rules;
pub mod source;

pub use decode::{DecodeOptions, Decoded, decode};
pub use encode::{EncodeOptions, encode};
pub use error::{DecodeError, EncodeError};
pub use externalize::{
    DataFile, ExternalizeError, ExternalizeOptions, Externalized, InlineOptions, externalize, inline, save,
};
pub use file::{FileError, ReadMode};
pub use limits::Limits;
pub use source::{Checksum, Containment, FileSource, SourceNote, verify_checksum};
