//! Runs every stage on hostile files: decoding, verifying, writing, checking, traversing, cloning and dropping, on a
//! thread with half a megabyte of stack and with bounded memory. The expectations are next to the cases in
//! [`onnx_hostile`]; the files of external data, T1 to T19, are with the tests of the codec.
//!
//! Names that collide in a hash table cannot be tried from outside: the tables are seeded at random for every process, so
//! no file can be made for them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests may fail")]

mod varied;

use bytes::Bytes;
use onnx_hostile::{self as hostile, gauntlet, memory};
use onnx_tests::conformance::suites::roundtrip::RoundTrip;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Compares with the independent reader, and in every form in which a model may be written.
fn compare(bytes: &Bytes) -> Result<(), String> {
    let suite = RoundTrip::new()?;
    let outcome = suite.file(bytes, &mut Vec::new());
    outcome.map(drop).map_err(|failure| format!("{}: {}", failure.kind, failure.detail))
}

#[test]
fn nesting() {
    gauntlet::run(hostile::nesting::cases(), compare);
}

#[test]
fn wire() {
    gauntlet::run(hostile::wire::cases(), compare);
}

#[test]
fn tensors() {
    gauntlet::run(hostile::tensors::cases(), compare);
}

#[test]
fn models() {
    gauntlet::run(hostile::models::cases(), compare);
}

#[test]
fn functions() {
    gauntlet::run(hostile::functions::cases(), compare);
}

#[test]
fn amplification() {
    gauntlet::run(hostile::amplify::cases(), compare);
}

#[test]
fn reports() {
    gauntlet::run(hostile::reports::cases(), compare);
}

#[test]
fn forms() {
    gauntlet::run(hostile::forms::cases(), compare);
}

#[test]
fn traps() {
    gauntlet::run(hostile::traps::cases(), compare);
}

#[test]
fn texts() {
    gauntlet::run(hostile::texts::cases(), compare);
}

#[test]
fn operands() {
    gauntlet::run(hostile::operands::cases(), compare);
}
