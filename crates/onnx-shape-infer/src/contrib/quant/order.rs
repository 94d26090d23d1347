//! Operators on matrices in an order of CUDA's libraries, which is a matter of memory and not of shapes.

use onnx_schema::attr;
use onnx_schema::onnxruntime::microsoft;

use super::super::like_first;
use crate::contrib::linear::product::product;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::ty::at;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::DEQUANTIZE_WITH_ORDER, &[since(1, dequantize)]),
    infer(microsoft::Q_ORDERED_ATTENTION, &[since(1, attention)]),
    infer(microsoft::Q_ORDERED_GELU, &[since(1, like_first)]),
    infer(microsoft::Q_ORDERED_LONGFORMER_ATTENTION, &[since(1, like_first)]),
    infer(microsoft::Q_ORDERED_MAT_MUL, &[since(1, matmul)]),
    infer(microsoft::QUANTIZE_WITH_ORDER, &[since(1, like_first)]),
];

fn dequantize(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(elem) = element_type::attribute(cx, attr::TO)? {
        cx.set_elem(0, elem);
    }
    like_first(cx)
}

/// The weights of the values have their width.
fn attention(cx: &mut Cx<'_, '_>) -> Outcome {
    let input = cx.shape_of_rank(0, 3)?;
    let width = at(&cx.dims_of_rank(7, 2)?, 1);
    cx.set_shape(0, [at(&input, 0), at(&input, 1), width]);
    Ok(())
}

/// The declared shape of the second matrix is `[K, N]` in every order.
fn matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let (left, right) = (cx.shape(0)?, cx.shape(2)?);
    let dims = product(cx, left, right)?;
    cx.set_dims(0, dims);
    Ok(())
}
