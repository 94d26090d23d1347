//! The `onnx` command as its users see it: exit codes, streams and files.
#![forbid(unsafe_code)]

mod check;
mod convert;
mod help;
mod info;
mod models;
mod run;
