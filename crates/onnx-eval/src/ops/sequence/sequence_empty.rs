//! `SequenceEmpty`: a sequence without elements.

use std::sync::Arc;

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::SEQUENCE_EMPTY, &[since(11, empty)]);

fn empty(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.put_value(0, Value::Sequence(Arc::new(Vec::new())))
}
