//! Operators that make tensors.

pub(super) mod random;
pub(super) mod range;
