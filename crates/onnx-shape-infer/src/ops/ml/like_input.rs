//! `Binarizer`, `Imputer`, `Normalizer`, `Scaler`: each gives a tensor of the shape of its input.
//!
//! The reference infers nothing about the shape for the last three.

use onnx_schema::{domain, op};

use crate::family::elementwise::like_first;
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(1, like_first)];

pub(super) const BINARIZER: OpRules = infer(op::BINARIZER, ROWS).of(domain::ML);
pub(super) const IMPUTER: OpRules = infer(op::IMPUTER, ROWS).of(domain::ML);
pub(super) const NORMALIZER: OpRules = infer(op::NORMALIZER, ROWS).of(domain::ML);
pub(super) const SCALER: OpRules = infer(op::SCALER, ROWS).of(domain::ML);
