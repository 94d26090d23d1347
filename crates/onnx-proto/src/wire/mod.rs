//! A bounded zero-copy reader and a segmenting writer of the protobuf wire format.
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
