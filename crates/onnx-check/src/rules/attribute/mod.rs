//! Rules about an attribute of a node.

mod attribute_kind_contradicts_value;
mod attribute_kind_missing;
mod attribute_without_value;
mod unknown_attribute;
mod wrong_attribute_kind;

use super::{Entry, entry};
use crate::cx::AttributeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut AttributeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&attribute_kind_contradicts_value::RULE, attribute_kind_contradicts_value::check),
    entry(&attribute_kind_missing::RULE, attribute_kind_missing::check),
    entry(&attribute_without_value::RULE, attribute_without_value::check),
    entry(&unknown_attribute::RULE, unknown_attribute::check),
    entry(&wrong_attribute_kind::RULE, wrong_attribute_kind::check),
];
