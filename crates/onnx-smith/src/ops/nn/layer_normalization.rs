//! Recipe of `LayerNormalization`.

use onnx_schema::op;

use crate::family::channels::layer_normalization;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::LAYER_NORMALIZATION], layer_normalization)];
