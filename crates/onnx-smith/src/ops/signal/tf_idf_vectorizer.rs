//! Recipe of `TfIdfVectorizer`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::TF_IDF_VECTORIZER], tf_idf)];

fn tf_idf(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.of_rank(1, 2)?;
    let is_text = draft.ty(0)?.elem() == ElemType::String;
    for (name, number) in [(attr::MIN_GRAM_LENGTH, 1), (attr::MAX_GRAM_LENGTH, 2), (attr::MAX_SKIP_COUNT, 0)]
    {
        draft.set(name, number);
    }
    // Two single words, and one pair.
    draft.set(attr::NGRAM_COUNTS, [0, 2]);
    draft.set(attr::NGRAM_INDEXES, [0, 1, 2]);
    if is_text {
        draft.set_strings(attr::POOL_STRINGS, ["a", "cat", "a", "dog"]);
    } else {
        draft.set(attr::POOL_INT64S, [0, 1, 0, 2]);
    }
    Some(())
}
