//! Operators with graphs.

pub(super) mod sequence_map;
