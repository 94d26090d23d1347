//! Recipe of `SequenceAt`.

use onnx_schema::op;

use crate::family::sequences::sequence_at;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SEQUENCE_AT], sequence_at)];
