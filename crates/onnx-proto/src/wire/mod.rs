//! A bounded zero-copy reader and a segmenting writer of the protobuf wire format.
//!
//! A protobuf message is a sequence of fields. A field is a tag (its number and wire type) and a value: a varint, 4 or
//! 8 bytes, or a length followed by that many bytes, which may be a message again. Numbers may come in any order and
//! repeat.
//!
//! # Reading
//!
//! An [`Input`] owns the bytes and the [`WireLimits`]. A [`Reader`] is a cursor over one message of it and returns one
//! [`Field`] after the other; [`Reader::message`] creates the reader of a nested message. [`Reader::raw_record`] keeps
//! unknown fields. A [`WireError`] knows the offset, and each enclosing reader adds its part of the path to it.
//!
//! Where protobuf implementations differ, this one follows upb, which the reference implementation of ONNX uses:
//!
//! * A known field with an unexpected wire type is the caller's to treat as unknown. prost refuses the message.
//! * Whether a string must be UTF-8 is the caller's choice, by calling [`Reader::string`]. prost refuses the message.
//! * Bits of a varint beyond the 64th are dropped. prost refuses the message.
//! * A tag longer than five bytes is refused. prost accepts it.
//! * Messages and groups may be nested 100 deep below the top, here an adjustable limit.
//!   prost counts every unknown field as one more level.
//!
//! Unlike upb, which stops at 2 GiB, it accepts lengths of 64 bits, in up to ten bytes.
//!
//! The numbers of a repeated field may be packed or not, whatever its declaration says. So the caller takes both single
//! numbers, such as [`Value::Varint`], and a [`Value::Len`] that it passes to [`Reader::packed_varints`] or a similar
//! method.
//!
//! # Writing
//!
//! A [`Writer`] puts down fields in the order of the calls. The result is a list of [`Segments`]: large payloads are
//! in it by reference, so a model with gigabytes of weights is written without copying them.
//! Reading a message and writing its fields in the same order gives the same bytes, provided that
//! [`Input::non_minimal`] counted nothing.

mod error;
mod limits;
mod packed;
mod reader;
mod writer;

pub use error::{PathSegment, WireError, WireErrorKind};
pub use limits::WireLimits;
pub use packed::{Fixed32s, Fixed64s, Varints};
pub use reader::{Field, Input, Payload, Reader, Value};
pub use writer::{Mark, Segments, Writer};
