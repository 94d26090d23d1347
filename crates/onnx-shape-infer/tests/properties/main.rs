//! What holds for every node of every operator at every version, right or wrong.
//!
//! `ONNX_PROPERTY_ROUNDS=N` makes `N` random nodes of each operator and version instead of a few.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod generate;
mod hostile;
mod monotone;
mod numbers;
mod strict;

/// How many random nodes are made of each schema.
fn rounds() -> u64 {
    std::env::var("ONNX_PROPERTY_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}
