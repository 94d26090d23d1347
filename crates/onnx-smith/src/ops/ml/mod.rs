//! The operators of classical machine learning, domain `ai.onnx.ml`.
//!
//! Many take one row of features or several: a vector counts as one row. Results are computed in `double`, with sums in the
//! order of the features, and rounded once.

mod array_feature_extractor;
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

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    array_feature_extractor::RECIPES,
    category_mapper::RECIPES,
    dict_vectorizer::RECIPES,
    feature_vectorizer::RECIPES,
    label_encoder::RECIPES,
    like_input::RECIPES,
    linear::RECIPES,
    one_hot_encoder::RECIPES,
    svm::RECIPES,
    tree_ensemble::RECIPES,
    trees::RECIPES,
    zip_map::RECIPES,
];
