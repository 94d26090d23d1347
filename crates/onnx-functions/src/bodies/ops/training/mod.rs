//! Operators of the preview domain.

pub(super) mod flex_attention;
