//! Parts of transformers as one operator.

use onnx_types::{Dim, ElemType};

use super::Rule;
use crate::cx::{Cx, Outcome};

pub(super) const RULES: &[Rule] = &[
    ("SkipLayerNormalization", skip),
    ("SkipSimplifiedLayerNormalization", skip),
    ("EmbedLayerNormalization", embed),
    ("Attention", attention),
];

/// The result, and behind what only training wants, the sum before normalization.
fn skip(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_ty(0, 0);
    cx.copy_ty(0, 3);
    Ok(())
}

/// Tokens (batch, length) become vectors of the width of the table of words.
fn embed(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_elem(1, ElemType::Int32);
    if let Ok(elem) = cx.elem(2) {
        cx.set_elem(0, elem);
        cx.set_elem(2, elem);
    }
    let tokens = cx.shape_of_rank(0, 2)?;
    if let Some(&batch) = tokens.first() {
        cx.set_shape(1, [batch]);
    }
    let width = cx.shape_of_rank(2, 2)?.last().copied().unwrap_or_default();
    let mut dims = tokens;
    dims.push(width);
    cx.set_shape(2, dims.iter().copied());
    cx.set_dims(0, dims);
    Ok(())
}

/// The weights hold those of queries, keys and values side by side, a third each unless `qkv_hidden_sizes` says otherwise.
fn attention(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = cx.elem(0)?;
    cx.set_elem(0, elem);
    let mut dims = cx.shape_of_rank(0, 3)?;
    let sizes = match cx.names().get("qkv_hidden_sizes") {
        Some(name) => cx.ints(name)?.unwrap_or_default(),
        None => &[],
    };
    let width = match *sizes {
        [_, _, width] => Dim::Known(width),
        _ => match cx.shape(1).ok().and_then(|weights| weights.last().copied()) {
            Some(Dim::Known(all)) if all % 3 == 0 => Dim::Known(all / 3),
            _ => Dim::Unknown,
        },
    };
    if let Some(last) = dims.last_mut() {
        *last = width;
    }
    cx.set_dims(0, dims);
    Ok(())
}
