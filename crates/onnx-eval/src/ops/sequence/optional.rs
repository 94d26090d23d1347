//! `Optional`: a value as an optional one, or an empty optional of a type. An optional of an optional is not a type.

use std::sync::Arc;

use onnx_schema::op;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::OPTIONAL, &[since(15, optional)]);

fn optional(cx: &mut Cx<'_, '_>) -> Outcome {
    let value = if cx.has_input(0) { Some(cx.value(0)?.clone()) } else { None };
    if matches!(value, Some(Value::Optional(_))) {
        return Err(Stop::failed("the input is an optional already"));
    }
    let value = value.map(Arc::new);
    cx.put_value(0, Value::Optional(value))
}
