//! Bounds on what reading a model may cost.

use onnx_proto::wire::WireLimits;

/// Bounds on what reading a model may cost, with defaults that accept every model in use.
///
/// Every bound that is exceeded gives an error that names it. Memory is bounded by the size of the input besides: no
/// count in a file is believed before the bytes for it are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bounds on the bytes themselves: nesting of messages, length of strings.
    pub wire: WireLimits,
    /// The greatest number of nodes in all graphs together. Default: 10 million.
    pub nodes: u64,
    /// The greatest number of values in all graphs together. Default: 20 million.
    pub values: u64,
    /// The greatest number of functions. Default: 1 million; the reference refuses models of more than 10,000.
    pub functions: u64,
    /// The greatest number of entries in one list that nothing else bounds: opset imports, metadata, annotations.
    /// Default: 1 million.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wire: WireLimits::default(),
            nodes: 10_000_000,
            values: 20_000_000,
            functions: 1_000_000,
            entries: 1_000_000,
        }
    }
}
