//! `OptionalGetElement`: the value in an optional, or the value itself if it is not an optional. An empty one fails the run.

use onnx_schema::op;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::OPTIONAL_GET_ELEMENT, &[since(15, get)]);

fn get(cx: &mut Cx<'_, '_>) -> Outcome {
    let value = match cx.value(0)? {
        Value::Optional(Some(value)) => value.as_ref().clone(),
        Value::Optional(None) => return Err(Stop::failed("the optional is empty")),
        value => value.clone(),
    };
    cx.put_value(0, value)
}
