//! The text format and the JSON form of protobuf.

#![forbid(unsafe_code)]

mod formats;
mod numbers;
mod terminal;
mod variations;
