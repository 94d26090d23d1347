//! Normalizations: the result has the shape of the input; what is saved for gradients has size 1 along normalized axes.
//!
//! `SkipLayerNormalization` adds an operand that broadcasts to the input. Kernels do not write its second and third output,
//! so only their types are known.

use onnx_schema::attr;
use onnx_schema::onnxruntime::{default, microsoft, nhwc};
use onnx_types::{Dim, ElemType};

use super::super::{both_like_first, like_first};
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome};
use crate::ty::{Dims, at};

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(default::LAYER_NORMALIZATION, &[since(1, layer)]),
    infer(default::MEAN_VARIANCE_NORMALIZATION, &[since(1, like_first)]),
    infer(default::SIMPLIFIED_LAYER_NORMALIZATION, &[since(1, layer)]),
    infer(microsoft::BRANCHWISE_RMS_NORM, &[since(1, like_first)]),
    infer(microsoft::EMBED_LAYER_NORMALIZATION, &[since(1, embed)]),
    infer(microsoft::GATED_RMS_NORM, &[since(1, like_first)]),
    infer(microsoft::GROUP_NORM, &[since(1, like_first)]),
    infer(microsoft::HYPER_CONNECTION_LOW_RANK_MIX, &[since(1, low_rank_mix)]),
    infer(microsoft::HYPER_CONNECTION_POST_MIX, &[since(1, like_first)]),
    infer(microsoft::HYPER_CONNECTION_PRE_MIX, &[since(1, pre_mix)]),
    infer(microsoft::Q_EMBED_LAYER_NORMALIZATION, &[since(1, embed)]),
    infer(microsoft::Q_ORDERED_LAYER_NORMALIZATION, &[since(1, like_first)]),
    infer(microsoft::SKIP_GROUP_NORM, &[since(1, both_like_first)]),
    infer(microsoft::SKIP_LAYER_NORMALIZATION, &[since(1, skip)]),
    infer(microsoft::SKIP_SIMPLIFIED_LAYER_NORMALIZATION, &[since(1, skip)]),
    infer(nhwc::BATCH_NORMALIZATION, &[since(7, batch)]),
    infer(nhwc::INSTANCE_NORMALIZATION, &[since(6, like_first)]),
    infer(nhwc::LRN, &[since(1, like_first)]),
];

/// The statistics are floats, for doubles as well.
fn layer(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_elem(1, ElemType::Float);
    cx.set_elem(2, ElemType::Float);
    cx.copy_shape(0, 0)?;
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, dims.len())?;
    dims.get_mut(axis..).unwrap_or_default().fill(Dim::Known(1));
    cx.set_shape(1, dims.iter().copied());
    cx.set_dims(2, dims);
    Ok(())
}

fn skip(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)?;
    cx.copy_shape(0, 3)
}

/// Tokens `[batch, length]` become vectors of the width of the table of words.
fn embed(cx: &mut Cx<'_, '_>) -> Outcome {
    let tokens = cx.shape_of_rank(0, 2)?;
    cx.set_shape(1, [at(&tokens, 0)]);
    let width = at(&cx.dims_of_rank(2, 2)?, 1);
    let dims: Dims = tokens.iter().copied().chain([width]).collect();
    cx.set_shape(2, dims.iter().copied());
    cx.set_dims(0, dims);
    Ok(())
}

/// The statistics have one element for each channel, as the scale.
fn batch(cx: &mut Cx<'_, '_>) -> Outcome {
    for output in 1..5 {
        // Unknown as long as the scale is.
        if cx.copy_shape(1, output).is_err() {
            break;
        }
    }
    like_first(cx)
}

/// The width of one branch of flattened streams.
fn of_branch(cx: &mut Cx<'_, '_>, flattened: Dim, branches: i64) -> Dim {
    if branches > 0 { cx.dims().floor_div(flattened, Dim::Known(branches)) } else { Dim::Unknown }
}

/// Streams `[…, C, H]`, or flattened `[…, C*H]`, become `[…, H]`.
fn pre_mix(cx: &mut Cx<'_, '_>) -> Outcome {
    let branches = cx.int_or("num_branches", 0)?;
    let mut dims = cx.shape_of_min_rank(0, if branches == 0 { 2 } else { 1 })?;
    if let Some(last) = dims.pop() {
        let width = if branches == 0 {
            dims.pop();
            last
        } else {
            of_branch(cx, last, branches)
        };
        dims.push(width);
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn low_rank_mix(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 2)?;
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    let branches = cx.int_or("num_branches", 0)?;
    if let Some(last) = dims.last_mut() {
        let flattened = std::mem::replace(last, Dim::Known(branches));
        let gate = dims.clone();
        cx.set_dims(1, gate);
        if let Some(last) = dims.last_mut() {
            *last = of_branch(cx, flattened, branches);
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
