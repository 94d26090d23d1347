//! Operators with graphs.

pub(super) mod conditional;
pub(super) mod scan;
