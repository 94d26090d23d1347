//! Rules about a definition of a value.

mod outer_value_hidden;
mod value_defined_twice;

use super::{Entry, entry};
use crate::cx::ValueCx;

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<fn(&mut ValueCx<'_, '_>)>] = &[
    entry(&outer_value_hidden::RULE, outer_value_hidden::check),
    entry(&value_defined_twice::RULE, value_defined_twice::check),
];
