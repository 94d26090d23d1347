//! Rules about a definition of a value.

mod initializer_contradicts_type;
mod initializer_not_input;
mod nested_input_with_default;
mod outer_value_hidden;
mod value_defined_twice;

use super::{Entry, entry};
use crate::cx::ValueCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut ValueCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&initializer_contradicts_type::RULE, initializer_contradicts_type::check),
    entry(&initializer_not_input::RULE, initializer_not_input::check),
    entry(&nested_input_with_default::RULE, nested_input_with_default::check),
    entry(&outer_value_hidden::RULE, outer_value_hidden::check),
    entry(&value_defined_twice::RULE, value_defined_twice::check),
];
