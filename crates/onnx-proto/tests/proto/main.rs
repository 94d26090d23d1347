//! Messages and the wire format.

#![forbid(unsafe_code)]

mod descriptors;
mod differential;
mod reader;
mod writer;
