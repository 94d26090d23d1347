//! Rules about a sparse tensor.

mod sparse_dimension_invalid;
mod sparse_index_out_of_range;
mod sparse_indices_external;
mod sparse_indices_malformed;
mod sparse_indices_missing;
mod sparse_indices_not_sorted;
mod sparse_values_missing;
mod sparse_values_not_a_vector;

use super::{Entry, entry};
use crate::cx::SparseCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut SparseCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&sparse_dimension_invalid::RULE, sparse_dimension_invalid::check),
    entry(&sparse_index_out_of_range::RULE, sparse_index_out_of_range::check),
    entry(&sparse_indices_external::RULE, sparse_indices_external::check),
    entry(&sparse_indices_malformed::RULE, sparse_indices_malformed::check),
    entry(&sparse_indices_missing::RULE, sparse_indices_missing::check),
    entry(&sparse_indices_not_sorted::RULE, sparse_indices_not_sorted::check),
    entry(&sparse_values_missing::RULE, sparse_values_missing::check),
    entry(&sparse_values_not_a_vector::RULE, sparse_values_not_a_vector::check),
];
