//! Sequences and optionals.

pub(super) mod optional;
