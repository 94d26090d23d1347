//! Rules about a file of external data and all tensors that are stored in it.

mod external_data_unaligned;
mod external_digest_wrong;
mod external_file_unreadable;
mod external_range_outside_file;
mod external_ranges_overlap;

use super::{Entry, entry};
use crate::cx::ExternalCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut ExternalCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&external_data_unaligned::RULE, external_data_unaligned::check),
    entry(&external_digest_wrong::RULE, external_digest_wrong::check),
    entry(&external_file_unreadable::RULE, external_file_unreadable::check),
    entry(&external_range_outside_file::RULE, external_range_outside_file::check),
    entry(&external_ranges_overlap::RULE, external_ranges_overlap::check),
];
