//! Many elements that become one.

pub(super) mod arg;
pub(super) mod reduce;
