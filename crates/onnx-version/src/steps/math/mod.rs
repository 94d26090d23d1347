//! Elementwise operators, reductions, casts and softmax.

pub(super) mod arg;
pub(super) mod binary;
pub(super) mod cast;
pub(super) mod clip;
pub(super) mod mat_mul;
pub(super) mod prelu;
pub(super) mod reduce;
pub(super) mod softmax;
pub(super) mod unary;
pub(super) mod variadic;
