//! What the parser and the printer do, by example and by property.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

mod compat;
mod elided;
mod errors;
mod format;
mod hostile;
mod roundtrip;
mod stream;
