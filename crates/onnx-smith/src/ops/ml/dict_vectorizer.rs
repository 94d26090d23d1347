//! Recipe of `DictVectorizer`.

use onnx_schema::{attr, op};
use onnx_types::{ElemType, TypeKind};

use crate::draft::Draft;
use crate::family::samples::WORDS;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::DICT_VECTORIZER], dict_vectorizer)];

fn dict_vectorizer(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let is_text = matches!(draft.ty(0)?.kind, TypeKind::Map { key: ElemType::String, .. });
    if is_text {
        draft.set_strings(attr::STRING_VOCABULARY, WORDS);
    } else {
        draft.set(attr::INT64_VOCABULARY, [0, 1, 2]);
    }
    Some(())
}
