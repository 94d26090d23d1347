//! Recipe of `BitwiseAnd`, `BitwiseOr`, `BitwiseXor` and `BitShift`.

use onnx_schema::op;

use crate::family::broadcast::binary;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::BITWISE_AND, op::BITWISE_OR, op::BITWISE_XOR, op::BIT_SHIFT], binary)];
