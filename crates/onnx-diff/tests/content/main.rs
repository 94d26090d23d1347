//! Laws of hashes and differences, on generated models: what is the same model, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod diff;
mod disguise;
mod edits;
mod hash;
mod hostile;
mod random;

/// Number of edits of each kind, for a long run: `ONNX_EDITS=10000 cargo test --release -p onnx-diff --test content`.
fn edits() -> usize {
    std::env::var("ONNX_EDITS").ok().and_then(|text| text.parse().ok()).unwrap_or(25)
}
