//! Products of two tensors of matrices: `FusedMatMul` and its variants, and those with quantized operands.
//!
//! `transA` and `transB` exchange the last two axes of an operand; a vector is not transposed, the other operand still is.
//! `transBatchA` and `transBatchB` move the first axis of an operand behind its batch axes before that, so that
//! `[rows, batch…, inner]` becomes `[batch…, rows, inner]`.

use onnx_schema::onnxruntime::microsoft;
use onnx_schema::{attr, domain, op};
use onnx_types::{Dim, ElemType};

use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::element_type;
pub(in crate::contrib) use crate::ops::linear::matmul::product;
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::DYNAMIC_QUANTIZE_MAT_MUL, &[since(1, plain)]),
    infer(microsoft::FUSED_GEMM, &[since(1, |cx| cx.infer_as(domain::ONNX, op::GEMM, 13))]),
    infer(microsoft::FUSED_MAT_MUL, &[since(1, transposed)]),
    infer(microsoft::FUSED_MAT_MUL_ACTIVATION, &[since(1, transposed)]),
    infer(microsoft::GEMM_FAST_GELU, &[since(1, plain)]),
    infer(microsoft::GEMM_FLOAT8, &[since(1, float8)]),
    infer(microsoft::MAT_MUL_INTEGER16, &[since(1, plain)]),
    infer(microsoft::MAT_MUL_INTEGER_TO_FLOAT, &[since(1, plain)]),
    infer(microsoft::Q_GEMM, &[since(1, quantized_gemm)]),
    infer(microsoft::SPARSE_TO_DENSE_MAT_MUL, &[since(1, transposed)]),
    infer(microsoft::TRANSPOSE_MAT_MUL, &[since(1, transposed)]),
    infer(microsoft::C_DIST, &[since(1, distances)]),
];

fn plain(cx: &mut Cx<'_, '_>) -> Outcome {
    let (left, right) = (cx.shape(0)?, cx.shape(1)?);
    let dims = product(cx, left, right)?;
    cx.set_dims(0, dims);
    Ok(())
}

fn transposed(cx: &mut Cx<'_, '_>) -> Outcome {
    let (mut left, mut right) = (cx.shape(0)?, cx.shape(1)?);
    for (dims, batch, last) in [(&mut left, "transBatchA", "transA"), (&mut right, "transBatchB", "transB")] {
        if cx.flag(batch)? {
            first_behind_batch(dims)?;
        }
        if cx.flag(last)?
            && let [.., rows, columns] = dims.as_mut_slice()
        {
            std::mem::swap(rows, columns);
        }
    }
    let dims = product(cx, left, right)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// `[rows, batch…, inner]` becomes `[batch…, rows, inner]`. Kernels differ for fewer than three axes.
fn first_behind_batch(dims: &mut Dims) -> Outcome {
    match dims.split_last_mut() {
        Some((_, batch)) if batch.len() >= 2 => {
            batch.rotate_left(1);
            Ok(())
        }
        _ => Err(Stop::Unknown),
    }
}

/// The product of two matrices that are transposed as the attributes say.
fn gemm(cx: &mut Cx<'_, '_>, right: usize) -> Outcome {
    let (mut left, mut right) = (cx.shape_of_rank(0, 2)?, cx.shape_of_rank(right, 2)?);
    if cx.flag("transA")? {
        left.reverse();
    }
    if cx.flag("transB")? {
        right.reverse();
    }
    cx.same(at(&left, 1), at(&right, 0), "the inner sizes of the matrices")?;
    cx.set_shape(0, [at(&left, 0), at(&right, 1)]);
    Ok(())
}

fn float8(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(elem) = element_type::attribute(cx, attr::DTYPE)? {
        cx.set_elem(0, elem);
    }
    gemm(cx, 1)
}

/// The result is quantized if a scale and a zero point of it are given, and of floats otherwise.
fn quantized_gemm(cx: &mut Cx<'_, '_>) -> Outcome {
    if !cx.has_input(8) {
        cx.set_elem(0, ElemType::Float);
    } else if let Ok(elem) = cx.elem(8) {
        cx.set_elem(0, elem);
    }
    gemm(cx, 3)
}

/// The distance of each row of one matrix to each row of another.
fn distances(cx: &mut Cx<'_, '_>) -> Outcome {
    let (left, right) = (cx.dims_of_rank(0, 2)?, cx.dims_of_rank(1, 2)?);
    cx.same(at(&left, 1), at(&right, 1), "the widths of the matrices")?;
    let dims: [Dim; 2] = [at(&left, 0), at(&right, 0)];
    cx.set_shape(0, dims);
    Ok(())
}
