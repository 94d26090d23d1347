//! Arithmetic, element by element, and what else is mathematics.

pub(super) mod binary;
pub(super) mod unary;
