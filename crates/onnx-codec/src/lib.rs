//! Lossless decoding of ONNX files into the editable graph, and encoding back.
//!
//! # Decoding
//!
//! [`load`] reads a model file, [`decode`] bytes in memory. The result is an `onnx_ir::Model` and the diagnostics of
//! reading: what is malformed but can be represented, with its byte offset. Only bytes that are not protobuf, and
//! exceeded limits, are errors. Tensors share the memory of the input.
//!
//! ```
//! use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
//!
//! // ir_version = 10, and a graph with the name "g".
//! let file = bytes::Bytes::from_static(b"\x08\x0a\x3a\x03\x12\x01g");
//! let mut model = decode(file.clone(), &DecodeOptions::default())?.model;
//! assert_eq!(encode(&model, &EncodeOptions::default())?.to_vec(), file);
//!
//! model.info_mut().ir_version = 11;
//! assert_eq!(encode(&model, &EncodeOptions::default())?.to_vec()[..2], *b"\x08\x0b");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Encoding
//!
//! [`encode`] writes canonical protobuf: fields in the order of their numbers, lists of numbers packed. Fields that the
//! file encoded in another form, and fields that no known release defines, are written as they were. A file in canonical form
//! therefore comes back byte for byte, and any other field for field. The result is a list of [`Segments`], in which large
//! payloads are shared with the model.
//!
//! # External data
//!
//! The weights of a model may be in other files. [`FileSource`] reads them, only from inside of the directory of the model;
//! [`externalize()`] and [`inline`] move weights between the model and its files; [`save`]
//! writes a model and its files together, all or nothing.
//!
//! # Parts
//!
//! [`decode_graph`], [`decode_node`], [`encode_function`] and similar functions decode and encode single messages.
//! [`message`] converts between models and prost messages, [`operator_set`] reads the documents that declare operators
//! of other domains.
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
pub mod value;

pub use decode::{
    DecodeOptions, Decoded, DecodedOperatorSet, decode, decode_attribute, decode_function, decode_graph,
    decode_node, decode_operator_set, decode_sparse_tensor, decode_tensor, decode_value_info,
};
pub use encode::{EncodeOptions, encode, encode_function, encode_graph, encode_node, encode_operator_set};
pub use error::{DecodeError, EncodeError};
pub use externalize::{
    DataFile, ExternalizeError, ExternalizeOptions, Externalized, InlineDataOptions, SaveError, externalize,
    inline, save, save_as,
};
pub use file::{FileError, InputFiles, ReadMode, WriteOptions};
pub use load::{LoadError, Loaded, load};
pub use onnx_proto::wire::Segments;
pub use onnx_types::Limits;
pub use sniff::{Content, OPERATOR_SET, sniff};
pub use source::{Checksum, Containment, FileSource, ModelStamp, SourceNote, verify_checksum};
