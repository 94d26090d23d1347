//! Reads a model with the graph library of burn, without making it simpler. It infers types meanwhile, which cannot be
//! turned off.

use std::process::ExitCode;

use onnx_ir::OnnxGraphBuilder;
use onnx_rust_peers::{main as measure, unknown};

fn main() -> ExitCode {
    measure(|way, job| match way {
        "graph" => job.bytes(|bytes| OnnxGraphBuilder::new().simplify(false).parse_bytes(&bytes)),
        other => unknown(other),
    })
}
