//! `Identity`: the value itself.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::IDENTITY, &[since(1, identity)]);

fn identity(cx: &mut Cx<'_, '_>) -> Outcome {
    let value = cx.value(0)?.clone();
    cx.put_value(0, value)
}
