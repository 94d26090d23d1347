//! Rules about lists of metadata, whatever they belong to.

mod metadata_key_not_reverse_dns;
mod metadata_key_repeated;
pub(super) mod model_metadata_key_repeated;

use super::{Entry, entry};
use crate::declaration_cx::MetadataCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut MetadataCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&metadata_key_not_reverse_dns::RULE, metadata_key_not_reverse_dns::check),
    entry(&metadata_key_repeated::RULE, metadata_key_repeated::check),
    entry(&model_metadata_key_repeated::RULE, model_metadata_key_repeated::check),
];
