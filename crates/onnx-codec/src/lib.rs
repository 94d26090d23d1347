//! ONNX files to the editable graph and back, losing nothing.
#![deny(unsafe_code)]
// What comes from outside is neither indexed nor added up unchecked.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod decode;
mod encode;
mod error;
pub mod externalize;
pub mod file;
mod load;
pub mod message;
mod mmap;
pub mod operator_set;
pub mod rules;
mod sniff;
pub mod source;

pub use decode::{
    DecodeOptions, Decoded, DecodedOperatorSet, decode, decode_attribute, decode_function, decode_graph,
    decode_node, decode_operator_set, decode_sparse_tensor, decode_tensor, decode_value_info,
};
pub use encode::{EncodeOptions, encode, encode_function, encode_graph, encode_node, encode_operator_set};
pub use error::{DecodeError, EncodeError};
pub use externalize::{
    DataFile, ExternalizeError, ExternalizeOptions, Externalized, InlineOptions, SaveError, externalize,
    inline, save, save_as,
};
pub use file::{FileError, InputFiles, ReadMode, WriteOptions};
pub use load::{LoadError, Loaded, load};
pub use onnx_proto::wire::Segments;
pub use onnx_types::Limits;
pub use sniff::{Content, sniff};
pub use source::{Checksum, Containment, FileSource, ModelStamp, SourceNote, verify_checksum};
