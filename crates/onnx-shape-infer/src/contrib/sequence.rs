//! Operators on texts and on sequences of tokens.

use onnx_schema::onnxruntime::microsoft;
use onnx_types::{Dim, ElemType};

use super::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::facts::Relation;
use crate::ty::at;

pub(super) const RULES: &[OpRules] = &[
    infer(microsoft::MURMUR_HASH3, &[since(1, hash)]),
    infer(microsoft::N_GRAM_HASH_MAPPING, &[since(1, n_grams)]),
    infer(microsoft::TOKENIZER, &[since(1, tokenize)]),
    infer(microsoft::VARLEN_N_GRAM_HASH_MAPPING, &[since(1, varlen_n_grams)]),
    infer(microsoft::WORD_CONV_EMBEDDING, &[since(1, words)]),
];

fn hash(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = if cx.int_or("positive", 1)? == 0 { ElemType::Int32 } else { ElemType::Uint32 };
    cx.set_elem(0, elem);
    cx.copy_shape(0, 0)
}

/// The most tokens of a text are an axis behind those of the input; but without texts the kernel adds no axis, and can
/// drop the sizes of others.
fn tokenize(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let count = cx.product(&dims);
    if cx.dims_le(Dim::Known(1), count) != Some(true) {
        if count.is_unknown() || count.known().is_some() {
            return Err(Stop::Unknown);
        }
        cx.assume(Relation::AtMost(Dim::Known(1), count), "without an element, the result has another shape");
    }
    cx.set_shape(0, dims.into_iter().chain([Dim::Unknown]));
    Ok(())
}

/// Each word, a row of characters, becomes a vector with an element for each filter.
fn words(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 1)?;
    dims.pop();
    let filters = cx.shape(1).map(|weights| at(&weights, 0)).unwrap_or_default();
    dims.push(filters);
    cx.set_dims(0, dims);
    Ok(())
}

/// The number of hashes of a position, and of positions before it that count.
fn orders(cx: &mut Cx<'_, '_>) -> Outcome<(Dim, Dim)> {
    let before = cx.int("max_ngram_size")?.filter(|&size| size > 1).and_then(|size| size.checked_sub(1));
    let heads = cx.int("n_head_per_ngram")?.filter(|&heads| heads > 0);
    let hashes = before.zip(heads).and_then(|(before, heads)| before.checked_mul(heads));
    Ok((hashes.map_or(Dim::Unknown, Dim::Known), before.map_or(Dim::Unknown, Dim::Known)))
}

fn n_grams(cx: &mut Cx<'_, '_>) -> Outcome {
    let (hashes, before) = orders(cx)?;
    let tokens = cx.dims_of_rank(0, 2)?;
    cx.set_shape(0, [at(&tokens, 0), at(&tokens, 1), hashes]);
    cx.set_shape(1, [at(&tokens, 0), before]);
    Ok(())
}

fn varlen_n_grams(cx: &mut Cx<'_, '_>) -> Outcome {
    let (hashes, before) = orders(cx)?;
    let tokens = cx.dims_of_rank(0, 1)?;
    let bounds = cx.dims_of_rank(3, 1)?;
    let batch = cx.dims().sub(at(&bounds, 0), Dim::Known(1));
    let batch = if cx.is_size(batch) { batch } else { Dim::Unknown };
    cx.set_shape(0, [at(&tokens, 0), hashes]);
    cx.set_shape(1, [batch, before]);
    cx.set_shape(2, [batch, before]);
    let capacity = cx.int_or("state_update_capacity", 0)?;
    cx.set_shape(3, [batch, Dim::Known(capacity), before]);
    Ok(())
}
