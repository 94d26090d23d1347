//! Operators of classical machine learning.

pub(super) mod label_encoder;
pub(super) mod trees;
