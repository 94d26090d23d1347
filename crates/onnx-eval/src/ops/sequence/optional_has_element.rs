//! `OptionalHasElement`: whether an optional has a value; `false` if the input is omitted, `true` for other values.

use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::OPTIONAL_HAS_ELEMENT, &[since(15, has)]);

fn has(cx: &mut Cx<'_, '_>) -> Outcome {
    let has = cx.has_input(0) && !matches!(cx.value(0)?, Value::Optional(None));
    cx.put_units(0, ElemType::Bool, &[], vec![u8::from(has)])
}
