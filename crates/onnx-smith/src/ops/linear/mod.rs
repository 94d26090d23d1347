//! Products of matrices, and what is made of them.

mod det;
mod einsum;
mod gemm;
mod matmul;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[det::RECIPES, einsum::RECIPES, gemm::RECIPES, matmul::RECIPES];
