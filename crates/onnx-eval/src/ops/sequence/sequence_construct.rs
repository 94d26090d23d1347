//! `SequenceConstruct`: a sequence of tensors of one type.

use std::sync::Arc;

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::SEQUENCE_CONSTRUCT, &[since(11, construct)]);

fn construct(cx: &mut Cx<'_, '_>) -> Outcome {
    let items = (0..cx.input_count()).map(|index| cx.tensor(index).map(|x| Value::Tensor(x.tensor)));
    let items = items.collect::<Outcome<Vec<_>>>()?;
    cx.put_value(0, Value::Sequence(Arc::new(items)))
}
