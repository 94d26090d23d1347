//! Operators that move elements.

pub(super) mod center_crop_pad;
pub(super) mod depth_space;
