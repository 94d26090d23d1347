//! The operators of classical machine learning, domain `ai.onnx.ml`.
//!
//! Many take one row of features or several: a vector counts as one row, which the specification implies and runtimes do.

mod array_feature_extractor;
mod cast_map;
mod category_mapper;
mod dict_vectorizer;
mod feature_vectorizer;
mod label_encoder;
mod like_input;
mod linear;
mod one_hot_encoder;
mod svm;
mod tree_ensemble;
mod trees;
mod zip_map;

use onnx_types::{Dim, ElemType, Symbol};

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[
    array_feature_extractor::RULES,
    cast_map::RULES,
    category_mapper::RULES,
    dict_vectorizer::RULES,
    feature_vectorizer::RULES,
    label_encoder::RULES,
    like_input::BINARIZER,
    like_input::IMPUTER,
    like_input::NORMALIZER,
    like_input::SCALER,
    linear::CLASSIFIER,
    linear::REGRESSOR,
    one_hot_encoder::RULES,
    svm::CLASSIFIER,
    svm::REGRESSOR,
    tree_ensemble::RULES,
    trees::CLASSIFIER,
    trees::REGRESSOR,
    zip_map::RULES,
];

/// How many rows the first input has.
fn rows(cx: &Cx<'_, '_>) -> Outcome<Dim> {
    match *cx.shape(0)? {
        [_] => Ok(Dim::Known(1)),
        [rows, _] => Ok(rows),
        _ => Err(Stop::Unknown),
    }
}

/// The size of a list, as a dimension.
const fn size(count: usize) -> Dim {
    Dim::Known(count as i64)
}

/// How many labels a classifier has; with texts among them, the first output is of texts, and of integers otherwise.
fn labels(cx: &mut Cx<'_, '_>, ints: Symbol, texts: Symbol) -> Outcome<usize> {
    let texts = cx.texts(texts)?.unwrap_or(0);
    let ints = cx.ints(ints)?.map_or(0, <[i64]>::len);
    cx.set_elem(0, if texts > 0 { ElemType::String } else { ElemType::Int64 });
    Ok(if texts > 0 { texts } else { ints })
}
