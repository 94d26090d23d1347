//! `Size`: the number of elements of a tensor.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::SIZE, &[since(1, size)]);

fn size(cx: &mut Cx<'_, '_>) -> Outcome {
    let count = cx.tensor(0)?.count as i64;
    cx.put(0, ElemType::Int64, &[], vec![count])
}
