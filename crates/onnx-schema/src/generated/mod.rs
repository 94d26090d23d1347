//! The tables that `cargo xtask codegen` writes.

pub(crate) mod functions;
pub(crate) mod names;
pub(crate) mod onnxruntime;
pub(crate) mod opsets;
pub(crate) mod schemas;
pub(crate) mod signatures;
pub(crate) mod types;
