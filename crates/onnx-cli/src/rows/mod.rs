//! Rows of facts about files of unknown origin: what `onnx scan` writes, and what `scan` of the Python package returns.
//!
//! A row is made of any bytes, and nothing is an error: what goes wrong is in the row.
//!
//! ```
//! use onnx_cli::rows::{RowOptions, of_file};
//!
//! let row = of_file("missing.onnx".as_ref(), "missing.onnx".to_owned(), &RowOptions::default());
//! let stage = row.columns().into_iter().find(|(name, _)| *name == "stage");
//! assert_eq!(stage.unwrap().1, "read");
//! ```

mod facts;
mod ranges;
mod row;
mod structure;

pub use facts::{RowOptions, of_file, of_source};
pub use ranges::{ReadError, ReadRanges};
pub use row::Row;
#[cfg(feature = "parquet")]
pub(crate) use row::{COLUMNS, Kind};
pub(crate) use row::{csv, csv_head};

use std::path::Path;

/// The name of a file in its row. Bytes that are not UTF-8 are escapes, as Python writes them.
pub(crate) fn name(path: &Path) -> String {
    onnx_codec::file::path_text(path)
}
