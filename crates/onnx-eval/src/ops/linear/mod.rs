//! Products of matrices, and what is made of them.

mod det;
mod einsum;
pub(crate) mod gemm;
pub(crate) mod matmul;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[det::KERNELS, einsum::KERNELS, gemm::KERNELS];
