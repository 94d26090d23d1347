//! The depth to which the printer descends.

/// How deeply the printer follows graphs and types into each other; no file that any reader takes gets there.
pub(crate) const PRINT_DEPTH: u32 = 128;
