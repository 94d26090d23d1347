//! Operators that gather, and that change the shape of a tensor.

pub(super) mod gather;
pub(super) mod shape;
