//! Attention over the tokens of all sequences without padding, and removing and restoring the padding.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::{heads, merged_width};
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::at;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::PACKED_ATTENTION, &[since(1, merged)]),
    infer(microsoft::PACKED_MULTI_HEAD_ATTENTION, &[since(1, multi_head)]),
    infer(microsoft::REMOVE_PADDING, &[since(1, remove_padding)]),
    infer(microsoft::RESTORE_PADDING, &[since(1, restore_padding)]),
];

fn merged(cx: &mut Cx<'_, '_>) -> Outcome {
    let count = at(&cx.shape_of_rank(0, 2)?, 0);
    let all = at(&cx.dims_of_rank(1, 2)?, 1);
    let width = merged_width(cx, all)?;
    cx.set_shape(0, [count, width]);
    Ok(())
}

/// Queries, keys and values are `[tokens, width]` each, or together `[tokens, heads, 3, head]`.
fn multi_head(cx: &mut Cx<'_, '_>) -> Outcome {
    let query = cx.shape(0)?;
    let width = match query.len() {
        4 => {
            let heads = heads(cx, "num_heads")?;
            cx.dims().mul(heads, at(&query, 3))
        }
        _ => at(&cx.dims_of_rank(2, 2)?, 1),
    };
    cx.set_shape(0, [at(&query, 0), width]);
    Ok(())
}

fn remove_padding(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(3, [Dim::Known(1)]);
    let input = cx.shape_of_rank(0, 3)?;
    cx.set_shape(0, [Dim::Unknown, at(&input, 2)]);
    cx.set_shape(1, [at(&input, 0), at(&input, 1)]);
    let bounds = cx.dims().add(at(&input, 0), Dim::Known(1));
    cx.set_shape(2, [bounds]);
    Ok(())
}

fn restore_padding(cx: &mut Cx<'_, '_>) -> Outcome {
    let (tokens, offsets) = (cx.dims_of_rank(0, 2)?, cx.dims_of_rank(1, 2)?);
    cx.set_shape(0, [at(&offsets, 0), at(&offsets, 1), at(&tokens, 1)]);
    Ok(())
}
