//! Signals; texts, and counts of them.

mod dft;
#[cfg(feature = "image")]
mod image_decoder;
mod mel_weight_matrix;
#[cfg(not(target_family = "wasm"))]
mod re2;
#[cfg(not(target_family = "wasm"))]
mod regex_full_match;
mod stft;
mod string_concat;
mod string_normalizer;
mod string_split;
mod tf_idf_vectorizer;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    dft::KERNELS,
    #[cfg(feature = "image")]
    image_decoder::KERNELS,
    mel_weight_matrix::KERNELS,
    // A browser would load regular expressions and the tables of Unicode for one operator.
    #[cfg(not(target_family = "wasm"))]
    regex_full_match::KERNELS,
    stft::KERNELS,
    string_concat::KERNELS,
    string_normalizer::KERNELS,
    string_split::KERNELS,
    tf_idf_vectorizer::KERNELS,
];

/// A text of an operand.
fn utf8(text: &[u8]) -> crate::cx::Outcome<&str> {
    std::str::from_utf8(text).map_err(|_| crate::cx::Stop::failed("a text is not UTF-8"))
}
