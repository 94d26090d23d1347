//! Reads a model into the graph of rten, without making it faster to run.

use std::process::ExitCode;

use onnx_rust_peers::{main as measure, unknown};
use rten::{ModelOptions, ShapeInferenceMode};

fn main() -> ExitCode {
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(false).shape_inference(ShapeInferenceMode::Off).prepack_weights(false);
    measure(|way, job| match way {
        "graph" => job.bytes(|bytes| options.load(bytes)),
        other => unknown(other),
    })
}
