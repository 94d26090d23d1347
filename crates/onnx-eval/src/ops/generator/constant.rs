//! `Constant`: a tensor that an attribute gives: a tensor, a sparse tensor, numbers or texts. Nothing is copied.

use std::sync::Arc;

use onnx_ir::AttrValue;
use onnx_schema::{CONSTANT_VALUES, attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::engine::constant::{dense, densified};
use crate::number::Unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::CONSTANT, &[since(1, constant)]);

fn constant(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut given = CONSTANT_VALUES.iter().copied().filter(|&name| cx.has_attribute(name));
    let (Some(name), None) = (given.next(), given.next()) else {
        return Err(Stop::failed("the node must have exactly one value"));
    };
    let value = cx.attribute(name).map(onnx_ir::Attribute::value);
    match value {
        Some(AttrValue::Tensor(tensor)) => {
            let made = dense(tensor, cx.data)?;
            cx.put_value(0, Arc::new(made))
        }
        Some(AttrValue::SparseTensor(sparse)) => {
            let made = densified(sparse, cx.data, cx.budget)?;
            cx.put_value(0, Arc::new(made))
        }
        _ if name == attr::VALUE_FLOAT => {
            let value = cx.float_or(name, 0.0)?;
            cx.put(0, ElemType::Float, &[], vec![value])
        }
        _ if name == attr::VALUE_INT => {
            let value = cx.int_or(name, 0)?;
            cx.put(0, ElemType::Int64, &[], vec![value])
        }
        _ if name == attr::VALUE_FLOATS => {
            let values = cx.floats(name)?.unwrap_or_default();
            cx.put(0, ElemType::Float, &[values.len()], values)
        }
        _ if name == attr::VALUE_INTS => {
            let values = cx.ints(name)?.unwrap_or_default();
            cx.put(0, ElemType::Int64, &[values.len()], values)
        }
        Some(AttrValue::String(text)) => cx.put_units(0, ElemType::String, &[], vec![text.clone()]),
        Some(AttrValue::Strings(texts)) => cx.put_units(0, ElemType::String, &[texts.len()], texts.clone()),
        Some(AttrValue::None) if name == attr::VALUE_STRINGS => {
            cx.put_units::<bytes::Bytes>(0, ElemType::String, &[0], Vec::new())
        }
        Some(AttrValue::None) if name == attr::VALUE_STRING => {
            cx.put_units(0, ElemType::String, &[], vec![bytes::Bytes::zero()])
        }
        _ => Err(Stop::failed("the value is of the wrong kind")),
    }
}
