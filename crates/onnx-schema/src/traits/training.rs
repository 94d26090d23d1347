//! Training, and the operators of `ai.onnx.preview`.

use super::attribute::attribute;
use super::row::{Row, computed, row};
use crate::generated::names::{attr, domain, op};

pub(super) const ROWS: &[Row] = &[
    row(op::ADAGRAD, computed()).of(domain::PREVIEW_TRAINING),
    row(op::ADAM, computed()).of(domain::PREVIEW_TRAINING),
    row(op::FLEX_ATTENTION, computed()).of(domain::PREVIEW),
    row(op::GRADIENT, computed()).of(domain::PREVIEW_TRAINING),
    row(op::MOMENTUM, computed().attributes_are(&[attribute(attr::MODE).one_of(&["standard", "nesterov"])]))
        .of(domain::PREVIEW_TRAINING),
];
