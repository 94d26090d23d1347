//! Attention.

pub(super) mod multi_head;
