//! Recipe of `SequenceErase`.

use onnx_schema::op;

use crate::family::sequences::sequence_at;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::SEQUENCE_ERASE], sequence_at)];
