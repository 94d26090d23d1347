//! Recurrent operators.

pub(super) mod recurrent;
