//! `Identity`: the input itself, which may be a tensor, sequence or optional.

use onnx_schema::op;

use crate::family::elementwise::{identity, keep_elements};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::IDENTITY, &[since(1, identity)]).values(&[since(1, keep_elements)]);
