//! Reads a model with tract: into its messages, and into its graph.

use std::process::ExitCode;

use onnx_rust_peers::{main as measure, unknown};
use tract_onnx::prelude::Framework as _;

fn main() -> ExitCode {
    let framework = tract_onnx::onnx();
    measure(|way, job| match way {
        "messages" => job.bytes(|bytes| told(framework.proto_model_for_read(&mut bytes.as_slice()))),
        "graph" => job.bytes(|bytes| told(framework.model_for_read(&mut bytes.as_slice()))),
        other => unknown(other),
    })
}

/// The whole chain of causes on one line.
fn told<T>(result: tract_onnx::prelude::TractResult<T>) -> Result<T, String> {
    result.map_err(|error| format!("{error:#}"))
}
