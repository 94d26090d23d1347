//! Rules about the functions that a model defines.

mod attribute_default_without_value;
mod function_attribute_repeated;
mod function_calls_itself;
mod function_calls_too_deep;
mod function_defined_twice;
mod function_domain_missing;
mod function_name_missing;
mod function_output_repeated;

use super::{Entry, entry};
use crate::declaration_cx::FunctionCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut FunctionCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&attribute_default_without_value::RULE, attribute_default_without_value::check),
    entry(&function_attribute_repeated::RULE, function_attribute_repeated::check),
    entry(&function_calls_itself::RULE, function_calls_itself::check),
    entry(&function_calls_too_deep::RULE, function_calls_too_deep::check),
    entry(&function_defined_twice::RULE, function_defined_twice::check),
    entry(&function_domain_missing::RULE, function_domain_missing::check),
    entry(&function_name_missing::RULE, function_name_missing::check),
    entry(&function_output_repeated::RULE, function_output_repeated::check),
];
