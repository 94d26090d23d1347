//! Rules about a declared type.

mod dimension_variable_asterisk;
mod map_key_type;
pub(super) mod negative_dimension;
mod type_incomplete;
mod types_contradict;
mod undefined_type_part;
mod unknown_denotation;

use super::{Entry, entry};
use crate::cx::TypeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut TypeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&dimension_variable_asterisk::RULE, dimension_variable_asterisk::check),
    entry(&map_key_type::RULE, map_key_type::check),
    entry(&negative_dimension::RULE, negative_dimension::check),
    entry(&type_incomplete::RULE, type_incomplete::check),
    entry(&types_contradict::RULE, types_contradict::check),
    entry(&undefined_type_part::RULE, undefined_type_part::check),
    entry(&unknown_denotation::RULE, unknown_denotation::check),
];
