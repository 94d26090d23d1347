//! Recipe of `ScatterND`.

use onnx_schema::op;

use crate::family::indices::places;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SCATTER_ND], places)];
