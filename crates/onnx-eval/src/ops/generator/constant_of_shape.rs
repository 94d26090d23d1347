//! `ConstantOfShape`: all elements are equal, `0.0` by default. The result is a splat, so its size has no cost until a
//! kernel reads all elements.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::engine::constant::dense;
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::CONSTANT_OF_SHAPE, &[since(9, fill)]).takes(&[(0, Takes::Within(1.0, 3.0))]);

fn fill(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = axes::sizes(&cx.vector(0)?)?;
    let (elem, payload) = match cx.attribute(attr::VALUE).map(onnx_ir::Attribute::value) {
        Some(AttrValue::Tensor(tensor)) => {
            let made = dense(tensor, cx.data)?;
            if made.element_count() != Some(1) {
                return Err(Stop::failed("the value must have one element"));
            }
            (
                made.elem(),
                by_unit!(made.elem(), U => U::store(made.elem(), U::load(&made, cx.data)?.into_vec())),
            )
        }
        None => (ElemType::Float, f32::store(ElemType::Float, vec![0.0])),
        Some(_) => return Err(Stop::failed("attribute `value` is not a tensor")),
    };
    cx.count(&dims)?;
    match Cx::splat(elem, &payload) {
        Some(splat) => {
            let tensor = cx.tensor_of(elem, &dims, splat)?;
            cx.put_value(0, tensor)
        }
        None => Err(Stop::unsupported_type(elem)),
    }
}
