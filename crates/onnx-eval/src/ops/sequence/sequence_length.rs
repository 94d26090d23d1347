//! `SequenceLength`: the number of elements of a sequence.

use onnx_schema::op;
use onnx_types::ElemType;

use super::items;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SEQUENCE_LENGTH, &[since(11, length)]);

fn length(cx: &mut Cx<'_, '_>) -> Outcome {
    let count = items(cx, 0)?.len() as i64;
    cx.put(0, ElemType::Int64, &[], vec![count])
}
