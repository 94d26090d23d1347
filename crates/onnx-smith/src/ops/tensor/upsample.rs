//! Recipe of `Upsample`.

use onnx_schema::op;

use crate::family::resizing::resize;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::UPSAMPLE], resize)];
