//! Bounds on what parsing may cost.

/// How deeply the printer follows graphs and types into each other; no file that any reader takes gets there.
pub(crate) const PRINT_DEPTH: u32 = 128;

/// Bounds on what parsing may cost, with defaults that accept every model in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How deeply graphs and types may be nested. Default: 64; files of more than about 30 levels cannot be written.
    pub depth: u32,
    /// The greatest length of the text in bytes. Default: 4 GiB - 1.
    pub bytes: u64,
    /// The greatest number of nodes in all graphs together. Default: 10 million.
    pub nodes: u64,
    /// The greatest number of values in all graphs together. Default: 20 million.
    pub values: u64,
    /// The greatest number of functions. Default: 1 million.
    pub functions: u64,
    /// After how many errors parsing stops. Default: 100.
    pub errors: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 64,
            bytes: u32::MAX as u64,
            nodes: 10_000_000,
            values: 20_000_000,
            functions: 1_000_000,
            errors: 100,
        }
    }
}
