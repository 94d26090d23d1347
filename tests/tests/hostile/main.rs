//! Runs every stage on hostile files: decoding, verifying, writing, checking, traversing, cloning and dropping, on a
//! thread with half a megabyte of stack and with bounded memory. The expectations are next to the cases in
//! [`onnx_tests::hostile`]; the files of external data, T1 to T19, are with the tests of the codec.
//!
//! Names that collide in a hash table cannot be tried from outside: the tables are seeded at random for every process, so
//! no file can be made for them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests may fail")]

mod varied;

use onnx_tests::hostile::{self, gauntlet, memory};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

#[test]
fn nesting() {
    gauntlet::run(hostile::nesting::cases());
}

#[test]
fn wire() {
    gauntlet::run(hostile::wire::cases());
}

#[test]
fn tensors() {
    gauntlet::run(hostile::tensors::cases());
}

#[test]
fn models() {
    gauntlet::run(hostile::models::cases());
}

#[test]
fn functions() {
    gauntlet::run(hostile::functions::cases());
}

#[test]
fn amplification() {
    gauntlet::run(hostile::amplify::cases());
}

#[test]
fn reports() {
    gauntlet::run(hostile::reports::cases());
}

#[test]
fn forms() {
    gauntlet::run(hostile::forms::cases());
}

#[test]
fn traps() {
    gauntlet::run(hostile::traps::cases());
}

#[test]
fn texts() {
    gauntlet::run(hostile::texts::cases());
}

#[test]
fn operands() {
    gauntlet::run(hostile::operands::cases());
}
