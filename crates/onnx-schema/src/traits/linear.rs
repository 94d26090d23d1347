//! Products of matrices.

use super::kinds::{CostWeight, Operations};
use super::row::{Row, computed, row};
use crate::generated::names::op;

pub(super) const ROWS: &[Row] = &[
    row(op::DET, computed()),
    row(op::EINSUM, computed().contracting().needs(Operations::Formula).weighs(CostWeight::Heavy)),
    row(op::GEMM, computed().contracting().needs(Operations::Formula).weighs(CostWeight::Heavy))
        .same_since(7),
    row(op::MAT_MUL, computed().contracting().needs(Operations::MatrixProduct).weighs(CostWeight::Heavy)),
    row(
        op::MAT_MUL_INTEGER,
        computed().contracting().needs(Operations::MatrixProduct).weighs(CostWeight::Heavy),
    ),
    row(
        op::Q_LINEAR_MAT_MUL,
        computed().contracting().needs(Operations::MatrixProduct).weighs(CostWeight::Heavy),
    ),
];
