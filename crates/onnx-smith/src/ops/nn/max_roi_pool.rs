//! Recipe of `MaxRoiPool`.

use onnx_schema::op;

use crate::family::image::regions;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::MAX_ROI_POOL], regions)];
