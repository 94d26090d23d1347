//! Recipe of `RoiAlign`.

use onnx_schema::op;

use crate::family::image::regions;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::ROI_ALIGN], regions)];
