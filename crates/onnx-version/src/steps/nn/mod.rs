//! Normalization, pooling and attention.

pub(super) mod attention;
pub(super) mod batch_normalization;
pub(super) mod normalization;
pub(super) mod pool;
pub(super) mod roi_align;
