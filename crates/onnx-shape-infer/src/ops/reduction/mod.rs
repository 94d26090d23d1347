//! Reductions along axes.

pub(super) mod arg;
pub(super) mod reduce;
