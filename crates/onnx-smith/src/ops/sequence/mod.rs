//! Sequences and optional values.

mod concat_from_sequence;
mod sequence_at;
mod sequence_erase;
mod split_to_sequence;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    concat_from_sequence::RECIPES,
    sequence_at::RECIPES,
    sequence_erase::RECIPES,
    split_to_sequence::RECIPES,
];
