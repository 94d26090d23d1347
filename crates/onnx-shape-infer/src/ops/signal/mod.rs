//! Signals, images and text.

mod dft;
mod image_decoder;
mod mel_weight_matrix;
mod regex_full_match;
mod stft;
mod string_concat;
mod string_normalizer;
mod string_split;
mod tf_idf_vectorizer;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[
    dft::RULES,
    image_decoder::RULES,
    mel_weight_matrix::RULES,
    regex_full_match::RULES,
    stft::RULES,
    string_concat::RULES,
    string_normalizer::RULES,
    string_split::RULES,
    tf_idf_vectorizer::RULES,
];
