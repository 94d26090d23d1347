//! `Bernoulli`, `Multinomial`, `RandomNormal`, `RandomNormalLike`, `RandomUniform`, `RandomUniformLike`: tensors of random
//! numbers. The shape comes from an attribute or the input, the type from an attribute, or else from the input.
//!
//! A negative number of samples is a fault, which the reference makes a size of.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::fault::{BAD_ATTRIBUTE, MISSING, NEGATIVE_SIZE};
use crate::registry::{OpRules, Row, infer, since};

const SHAPED: &[Row] = &[since(1, shaped)];
const LIKE: &[Row] = &[since(1, like)];

pub(in crate::ops) const RULES: &[OpRules] = &[
    infer(op::BERNOULLI, &[since(15, like)]),
    infer(op::MULTINOMIAL, &[since(7, multinomial)]),
    infer(op::RANDOM_NORMAL, SHAPED),
    infer(op::RANDOM_NORMAL_LIKE, LIKE),
    infer(op::RANDOM_UNIFORM, SHAPED),
    infer(op::RANDOM_UNIFORM_LIKE, LIKE),
];

fn shaped(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = element_type::attribute(cx, attr::DTYPE)?.unwrap_or(ElemType::Float);
    cx.set_elem(0, elem);
    let Some(shape) = cx.ints(attr::SHAPE)? else {
        return Err(cx.fail(&MISSING, "attribute `shape` is missing"));
    };
    if let Some(size) = shape.iter().find(|&&size| size < 0) {
        return Err(cx.fail(&NEGATIVE_SIZE, format_args!("a size of the shape is {size}")));
    }
    cx.set_shape(0, shape.iter().map(|&size| Dim::Known(size)));
    Ok(())
}

fn like(cx: &mut Cx<'_, '_>) -> Outcome {
    match element_type::attribute(cx, attr::DTYPE)? {
        Some(elem) => cx.set_elem(0, elem),
        None => {
            if let Ok(elem) = cx.elem(0) {
                cx.set_elem(0, elem);
            }
        }
    }
    cx.copy_shape(0, 0)
}

fn multinomial(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = element_type::attribute(cx, attr::DTYPE)?.unwrap_or(ElemType::Int32);
    if !matches!(elem, ElemType::Int32 | ElemType::Int64) {
        return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `dtype` is neither `int32` nor `int64`"));
    }
    cx.set_elem(0, elem);
    let samples = cx.int_or(attr::SAMPLE_SIZE, 1)?;
    if samples < 0 {
        return Err(cx.fail(&NEGATIVE_SIZE, format_args!("the number of samples is {samples}")));
    }
    cx.set_shape(0, [Dim::Unknown, Dim::Known(samples)]);
    if let [batch, _] = *cx.shape_of_rank(0, 2)? {
        cx.set_shape(0, [batch, Dim::Known(samples)]);
    }
    Ok(())
}
