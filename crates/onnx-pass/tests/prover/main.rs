//! An attack on the prover: claims that are correct, wrong ones that are made of them by mutations, and passes with faults.
//! Correct edits must be accepted, and wrong ones refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::as_conversions,
    reason = "helpers of tests may fail"
)]

mod claims;
mod faults;
mod judge;
mod mutate;
mod passes;
mod witness;
