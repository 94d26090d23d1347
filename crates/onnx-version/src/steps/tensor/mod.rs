//! Operators that move elements.

pub(super) mod concat;
pub(super) mod constant;
pub(super) mod depth_space;
pub(super) mod dropout;
pub(super) mod expand;
pub(super) mod flatten;
pub(super) mod gather;
pub(super) mod grid_sample;
pub(super) mod one_hot;
pub(super) mod pad;
pub(super) mod reshape;
pub(super) mod resize;
pub(super) mod scatter;
pub(super) mod shape;
pub(super) mod slice;
pub(super) mod split;
pub(super) mod tile;
pub(super) mod top_k;
pub(super) mod trilu;
pub(super) mod upsample;
