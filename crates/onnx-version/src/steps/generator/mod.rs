//! Operators that make tensors.

pub(super) mod constant_of_shape;
pub(super) mod range;
