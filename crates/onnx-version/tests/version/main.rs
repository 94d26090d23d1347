//! Conversions between versions.

#![forbid(unsafe_code)]

mod allowed;
mod corrections;
mod imports;
mod invalid_nodes;
mod reasons;
mod values;
