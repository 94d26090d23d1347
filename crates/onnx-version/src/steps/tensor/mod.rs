//! Operators that move elements.

pub(super) mod concat;
pub(super) mod dropout;
pub(super) mod grid_sample;
pub(super) mod one_hot;
pub(super) mod pad;
pub(super) mod resize;
pub(super) mod scatter;
pub(super) mod split;
pub(super) mod tile;
pub(super) mod upsample;
