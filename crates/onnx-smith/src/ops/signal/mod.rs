//! Texts, and counts of them.

mod dft;
mod image_decoder;
mod mel_weight_matrix;
mod stft;
mod string_concat;
mod string_normalizer;
mod tf_idf_vectorizer;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    dft::RECIPES,
    image_decoder::RECIPES,
    mel_weight_matrix::RECIPES,
    stft::RECIPES,
    string_concat::RECIPES,
    string_normalizer::RECIPES,
    tf_idf_vectorizer::RECIPES,
];
