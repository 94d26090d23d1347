//! Measures what a model takes in memory: `memory PATH` prints a JSON object for `cargo xtask bench --peers`.
//!
//! The allocator counts, which takes time, so nothing is timed here.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its caller")]
#![forbid(unsafe_code)]

use std::process::ExitCode;

use onnx_benches::samples::Samples;
use onnx_benches::{decode, decode_messages};
use onnx_codec::ReadMode;
use onnx_hostile::memory::{Counting, measure};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Records what making something took: what it keeps, the most it took meanwhile, and how often it asked.
fn record<T>(name: &str, samples: &mut Samples, make: impl FnOnce() -> T) -> T {
    let (made, taken) = measure(make);
    samples.push(format!("{name}-live"), taken.kept as u64);
    samples.push(format!("{name}-peak"), taken.peak as u64);
    samples.push(format!("{name}-allocations"), taken.calls);
    made
}

fn main() -> ExitCode {
    let bytes = std::env::args().nth(1).map(|path| onnx_codec::file::read(path, ReadMode::Memory));
    let bytes = match bytes {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => {
            eprintln!("memory: {error}");
            return ExitCode::FAILURE;
        }
        None => {
            eprintln!("memory PATH");
            return ExitCode::FAILURE;
        }
    };
    let mut samples = Samples::default();
    samples.push("input", bytes.len() as u64);
    drop(record("prost", &mut samples, || decode_messages(bytes.clone())));
    let model = record("decode", &mut samples, || decode(bytes.clone()));
    samples.push("nodes", model.node_count() as u64);
    samples.push("values", model.value_count() as u64);
    drop(record("clone", &mut samples, || model.clone()));
    drop(record("encode", &mut samples, || onnx_benches::encode(&model)));
    println!("{}", samples.to_json());
    ExitCode::SUCCESS
}
