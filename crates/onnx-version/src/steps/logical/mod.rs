//! Operators on truth values and bits.

pub(super) mod bits;
