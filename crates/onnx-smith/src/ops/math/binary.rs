//! Recipe of `Add`, `Div`, `Mod`, `Mul`, `Pow` and `Sub`.

use onnx_schema::op;

use crate::family::broadcast::binary;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] =
    &[row(&[op::ADD, op::DIV, op::MOD, op::MUL, op::POW, op::SUB], binary)];
