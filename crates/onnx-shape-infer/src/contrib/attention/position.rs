//! Positions: rotary embedding, which changes no shape, and biases by relative position.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::{Dim, ElemType};

use super::heads;
use crate::contrib::like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::GATED_RELATIVE_POSITION_BIAS, &[since(1, gated_bias)]),
    infer(microsoft::GEMMA_ROTARY_EMBEDDING, &[since(1, gemma)]),
    infer(microsoft::M_ROTARY_EMBEDDING, &[since(1, like_first)]),
    infer(microsoft::RELATIVE_POSITION_BIAS, &[since(1, bias)]),
    infer(microsoft::RMS_NORM_ROTARY, &[since(1, norm_rotary)]),
    infer(microsoft::ROTARY_EMBEDDING, &[since(1, like_first)]),
];

fn gemma(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(1, 0)?;
    cx.copy_shape(3, 1)
}

/// The lengths of queries and keys are inputs.
fn bias(cx: &mut Cx<'_, '_>) -> Outcome {
    let heads = at(&cx.dims_of_rank(0, 2)?, 1);
    let lengths = [1, 2].map(|input| {
        let length = cx.scalar(input).unwrap_or_default();
        if cx.is_size(length) { length } else { Dim::Unknown }
    });
    cx.set_shape(0, [Dim::Known(1), heads, lengths[0], lengths[1]]);
    Ok(())
}

/// The queries are `[batch, length, width]`, or without padding, with the offsets of tokens `[batch, length]`.
fn gated_bias(cx: &mut Cx<'_, '_>) -> Outcome {
    let heads = heads(cx, "num_heads")?;
    let query = cx.shape(0);
    let from = match query {
        Ok(query) if query.len() == 3 => query,
        _ => cx.dims_of_rank(6, 2)?,
    };
    let length = at(&from, 1);
    cx.set_shape(0, [at(&from, 0), heads, length, length]);
    Ok(())
}

/// `[B, S, heads, stride]`, of which a slice is normalized and rotated.
fn norm_rotary(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = if cx.flag("output_fp16")? { ElemType::Float16 } else { ElemType::Bfloat16 };
    cx.set_elem(0, elem);
    let input = cx.shape_of_rank(0, 4)?;
    let width = match cx.int_or("input_width", 0)? {
        0 => at(&input, 3),
        width => Dim::Known(width),
    };
    cx.set_shape(1, [at(&input, 0), at(&input, 1), at(&input, 2), width]);
    let all = cx.dims().mul(at(&input, 2), width);
    if cx.flag("flatten_batch")? {
        let length = cx.dims().mul(at(&input, 0), at(&input, 1));
        cx.set_shape(0, [Dim::Known(1), length, all]);
    } else {
        cx.set_shape(0, [at(&input, 0), at(&input, 1), all]);
    }
    Ok(())
}
