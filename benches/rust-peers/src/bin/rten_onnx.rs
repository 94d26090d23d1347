//! Reads a model into the messages of rten.

use std::process::ExitCode;

use onnx_rust_peers::{main as measure, unknown};
use rten_onnx::onnx::ModelProto;

fn main() -> ExitCode {
    measure(|way, job| match way {
        "messages" => job.bytes(|bytes| ModelProto::parse_buf(&bytes)),
        other => unknown(other),
    })
}
