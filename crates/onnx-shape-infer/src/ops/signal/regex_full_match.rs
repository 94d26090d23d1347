//! `RegexFullMatch`: whether each text matches.

use onnx_schema::op;

use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::REGEX_FULL_MATCH, &[since(20, like_first)]);
