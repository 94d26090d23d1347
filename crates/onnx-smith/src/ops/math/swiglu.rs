//! Recipe of `SwiGLU`.

use onnx_schema::op;

use crate::family::broadcast::binary;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SWI_GLU], binary)];
