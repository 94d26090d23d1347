//! Products with weights that are quantized in blocks, whose sizes are attributes or sizes of the weights.
//!
//! `[…, K]` and weights for `K` and `N` features give `[…, N]`; the weights themselves have a packed layout.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::MAT_MUL_BLOCK_QUANTIZED_FP4WEIGHT, &[since(1, by_rows)]),
    infer(microsoft::MAT_MUL_BLOCK_QUANTIZED_FP8WEIGHT, &[since(1, by_rows)]),
    infer(microsoft::MAT_MUL_BNB4, &[since(1, four_bits)]),
    infer(microsoft::MAT_MUL_FP_Q4, &[since(1, by_shape)]),
    infer(microsoft::MAT_MUL_N_BITS, &[since(1, by_attributes)]),
    infer(microsoft::MAT_MUL_N_BITS_MLP, &[since(1, gated)]),
    infer(microsoft::MAT_MUL_N_BITS_Q_LO_RA, &[since(1, by_attributes)]),
    infer(microsoft::MAT_MUL_N_BITS_QKV, &[since(1, three)]),
    infer(microsoft::MAT_MUL_PACKED, &[since(1, by_attributes)]),
];

/// An attribute with a size.
fn size(cx: &mut Cx<'_, '_>, name: &str) -> Outcome<Dim> {
    Ok(cx.int(name)?.filter(|&size| size >= 0).map_or(Dim::Unknown, Dim::Known))
}

/// The shape of the first input with another last size.
fn with_last(cx: &mut Cx<'_, '_>, inner: Dim, last: Dim) -> Outcome<Dims> {
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    if let Some(slot) = dims.last_mut() {
        cx.same(*slot, inner, "the inner sizes of the matrices")?;
        *slot = last;
    }
    Ok(dims)
}

fn by_attributes(cx: &mut Cx<'_, '_>) -> Outcome {
    let (inner, columns) = (size(cx, "K")?, size(cx, "N")?);
    let dims = with_last(cx, inner, columns)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// Without `transB` the weights are transposed, which is for training.
fn four_bits(cx: &mut Cx<'_, '_>) -> Outcome {
    let (mut inner, mut columns) = (size(cx, "K")?, size(cx, "N")?);
    if !cx.flag("transB")? {
        std::mem::swap(&mut inner, &mut columns);
    }
    let dims = with_last(cx, inner, columns)?;
    cx.set_dims(0, dims);
    Ok(())
}

fn gated(cx: &mut Cx<'_, '_>) -> Outcome {
    // The sum of the input and what is skipped has the shape of the input.
    cx.copy_shape(0, 1)?;
    by_attributes(cx)
}

fn three(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 3)?;
    let inner = size(cx, "K")?;
    for (output, name) in [(0, "Nq"), (1, "Nkv"), (2, "Nkv")] {
        let columns = size(cx, name)?;
        let dims = with_last(cx, inner, columns)?;
        cx.set_dims(output, dims);
    }
    Ok(())
}

/// The weights are one matrix, a row for each output feature; the inner size may be packed.
fn by_rows(cx: &mut Cx<'_, '_>) -> Outcome {
    let rows = at(&cx.dims_of_rank(1, 2)?, 0);
    let dims = with_last(cx, Dim::Unknown, rows)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// The shape of the weights is an input.
fn by_shape(cx: &mut Cx<'_, '_>) -> Outcome {
    let weights = cx.elements(2)?.filter(|sizes| sizes.len() == 2).ok_or(Stop::Unknown)?;
    let dims = with_last(cx, at(&weights, 0), at(&weights, 1))?;
    cx.set_dims(0, dims);
    Ok(())
}
