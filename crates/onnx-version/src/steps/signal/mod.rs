//! Signals.

pub(super) mod dft;
