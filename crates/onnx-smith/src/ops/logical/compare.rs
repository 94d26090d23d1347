//! Recipe of `And`, `Equal`, `Greater`, `GreaterOrEqual`, `Less`, `LessOrEqual`, `Or` and `Xor`.

use onnx_schema::op;

use crate::family::broadcast::binary;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(
    &[op::AND, op::EQUAL, op::GREATER, op::GREATER_OR_EQUAL, op::LESS, op::LESS_OR_EQUAL, op::OR, op::XOR],
    binary,
)];
