//! Operators that are a standard one together with what follows it.

use onnx_schema::{domain, op};

use super::{Rule, int, like_first};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::Dims;

pub(super) const RULES: &[Rule] = &[
    ("BiasGelu", like_first),
    ("FastGelu", like_first),
    ("QuickGelu", like_first),
    // The activation changes no shape; a tensor to be added before it comes behind the inputs of the convolution.
    ("FusedConv", |cx| cx.infer_as(domain::ONNX, op::CONV, 11)),
    ("FusedGemm", |cx| cx.infer_as(domain::ONNX, op::GEMM, 13)),
    ("FusedMatMul", matmul),
];

/// A product of matrices that are laid on their side before, as attributes say.
fn matmul(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    cx.set_elem(0, elem);
    if int(cx, "transBatchA", 0)? != 0 || int(cx, "transBatchB", 0)? != 0 {
        return Err(Stop::Unknown);
    }
    let (mut left, mut right) = (cx.shape(0)?, cx.shape(1)?);
    if left.len() < 2 || right.len() < 2 {
        // Vectors are not transposed.
        return cx.infer_as(domain::ONNX, op::MAT_MUL, 13);
    }
    if int(cx, "transA", 0)? != 0 {
        swap_last(&mut left);
    }
    if int(cx, "transB", 0)? != 0 {
        swap_last(&mut right);
    }
    let (Some(inner), Some(rows)) = (left.pop(), left.pop()) else { return Err(Stop::Unknown) };
    let (Some(columns), Some(other)) = (right.pop(), right.pop()) else { return Err(Stop::Unknown) };
    cx.same(inner, other, "the inner sizes of the matrices")?;
    let mut dims = cx.broadcast(&left, &right)?;
    dims.extend([rows, columns]);
    cx.set_dims(0, dims);
    Ok(())
}

fn swap_last(dims: &mut Dims) {
    if let [.., a, b] = dims.as_mut_slice() {
        std::mem::swap(a, b);
    }
}
