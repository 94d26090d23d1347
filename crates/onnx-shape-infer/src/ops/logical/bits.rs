//! Operations on bits, and tests for numbers that are none: shapes as of other operators on elements. Elements are not
//! followed.

use onnx_schema::op;

use crate::family::broadcast::all;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::BIT_SHIFT, &[since(11, all)]),
    infer(op::BITWISE_AND, &[since(18, all)]),
    infer(op::BITWISE_NOT, &[since(18, like_first)]),
    infer(op::BITWISE_OR, &[since(18, all)]),
    infer(op::BITWISE_XOR, &[since(18, all)]),
    infer(op::IS_INF, &[since(10, like_first)]),
    infer(op::IS_NAN, &[since(9, like_first)]),
];
