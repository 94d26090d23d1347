//! Elementwise operators, casts and softmax.

pub(super) mod binary;
pub(super) mod cast;
pub(super) mod clip;
pub(super) mod prelu;
pub(super) mod softmax;
pub(super) mod unary;
