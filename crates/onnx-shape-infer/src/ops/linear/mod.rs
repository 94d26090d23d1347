//! Products of matrices, and what is made of them.

mod det;
mod einsum;
mod gemm;
pub(crate) mod matmul;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[det::RULES, einsum::RULES, gemm::RULES];
