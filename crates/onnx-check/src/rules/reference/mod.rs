//! Rules about attributes that refer to one of the function around them.

mod reference_of_other_kind;
mod reference_outside_function;
mod undeclared_reference;

use super::{Entry, entry};
use crate::cx::AttributeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut AttributeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&reference_of_other_kind::RULE, reference_of_other_kind::check),
    entry(&reference_outside_function::RULE, reference_outside_function::check),
    entry(&undeclared_reference::RULE, undeclared_reference::check),
];
