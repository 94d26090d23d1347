//! `StringConcat`: joins the texts of two tensors that broadcast.

use onnx_schema::op;

use crate::family::broadcast;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::STRING_CONCAT, &[since(20, broadcast::all)]);
