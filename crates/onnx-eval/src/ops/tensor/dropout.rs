//! `Dropout`: the input itself and a mask that is all true, as in inference. Training with a ratio above 0 is not supported
//! yet: it needs the generator of random numbers.

use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::DROPOUT, &[since(1, with_flag), since(7, inference), since(12, with_inputs)]);

/// `is_test` is 0 by default, which means training.
fn with_flag(cx: &mut Cx<'_, '_>) -> Outcome {
    if !cx.flag(attr::IS_TEST)? && cx.float_or(attr::RATIO, 0.5)? != 0.0 {
        return Err(Stop::unsupported("dropout in training"));
    }
    inference(cx)
}

fn with_inputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_training = match cx.optional(2)? {
        Some(mode) => cx.read::<i64>(&mode)?.first().is_some_and(|&mode| mode != 0),
        None => false,
    };
    let ratio = match cx.optional(1)? {
        Some(ratio) => cx.read_f64(&ratio)?.first().copied(),
        None => None,
    };
    if is_training && ratio.unwrap_or(0.5) != 0.0 {
        return Err(Stop::unsupported("dropout in training"));
    }
    inference(cx)
}

fn inference(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    cx.put_value(0, x.tensor.clone())?;
    if !cx.wants(1) {
        return Ok(());
    }
    // The mask has the type of the data before version 10.
    if cx.since() < 10 {
        let ones = vec![1.0_f64; x.count];
        let payload = crate::ops::math::cast::round_to(x.elem, &ones, true, Default::default());
        let mask = cx.tensor_of(x.elem, &x.dims, payload)?;
        return cx.put_value(1, mask);
    }
    let mask = Tensor::splat(x.tensor.dims().iter().copied(), true)?;
    debug_assert_eq!(mask.elem(), ElemType::Bool);
    cx.put_value(1, mask)
}
