//! In the place of the module that writes Parquet, where the feature is not enabled.

use crate::exit::Failure;

/// Writes rows: there is none.
pub(super) enum Columns {}

impl Columns {
    pub(super) fn new() -> Result<Self, Failure> {
        Err(Failure::new("this program was built without the cargo feature `parquet`, and does not write that format").help(
            "write `--to jsonl`, which DuckDB, Polars and pandas read and convert, or build it: `cargo install --locked --path crates/onnx-cli --features parquet`",
        ))
    }

    pub(super) fn add(&mut self, _: &str) -> Result<Vec<u8>, Failure> {
        match *self {}
    }

    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Failure> {
        match *self {}
    }
}
