//! Signals, images and strings.

use super::attribute::attribute;
use super::exclusion::{Exclusion, ExclusivePart, needed};
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const POOLS: &[Exclusion] = &[needed(
    &[ExclusivePart::Attribute(attr::POOL_STRINGS), ExclusivePart::Attribute(attr::POOL_INT64S)],
    "attribute pool_strings",
)];

pub(super) const ROWS: &[Row] = &[
    row(op::DFT, computed().contracting().sized_by(&[1, 2]))
        .then(&[(20, computed().contracting().numbers(&[1, 2]).sized_by(&[1, 2]))]),
    row(
        op::IMAGE_DECODER,
        computed()
            .attributes_are(&[attribute(attr::PIXEL_FORMAT).one_of(&["RGB", "BGR", "Grayscale"])])
            .counts(&[0]),
    ),
    row(
        op::MEL_WEIGHT_MATRIX,
        computed()
            .numbers(&[0, 1, 2, 3, 4])
            .attributes_are(&[attribute(attr::OUTPUT_DATATYPE).element_type()])
            .sized_by(&[0, 1]),
    ),
    row(op::REGEX_FULL_MATCH, computed()),
    row(op::STFT, computed().contracting().numbers(&[1, 3]).sized_by(&[1, 3])),
    row(op::STRING_CONCAT, computed()),
    row(
        op::STRING_NORMALIZER,
        computed()
            .attributes_are(&[attribute(attr::CASE_CHANGE_ACTION).one_of(&["LOWER", "UPPER", "NONE"])])
            .counts(&[0]),
    ),
    row(op::STRING_SPLIT, computed().counts(&[0])),
    row(
        op::TF_IDF_VECTORIZER,
        computed()
            .attributes_are(&[attribute(attr::MODE).one_of(&["TF", "IDF", "TFIDF"])])
            .excludes(POOLS)
            .with_parallel(&[&[attr::NGRAM_INDEXES, attr::WEIGHTS]]),
    ),
];
