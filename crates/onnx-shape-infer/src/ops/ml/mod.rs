//! The operators of classical machine learning, domain `ai.onnx.ml`.

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[];
