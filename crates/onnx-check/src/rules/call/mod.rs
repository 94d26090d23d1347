//! Rules about calls of functions, and about the nodes in functions. They see every node of a model that has functions.

mod function_in_domain_of_onnx;
mod missing_call_attribute;
mod operator_differs_from_model;
mod too_many_call_inputs;
mod too_many_call_outputs;
mod unknown_call_attribute;
mod unknown_function;
mod unknown_overload;

use super::{Entry, entry};
use crate::cx::NodeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut NodeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&function_in_domain_of_onnx::RULE, function_in_domain_of_onnx::check),
    entry(&missing_call_attribute::RULE, missing_call_attribute::check),
    entry(&operator_differs_from_model::RULE, operator_differs_from_model::check),
    entry(&too_many_call_inputs::RULE, too_many_call_inputs::check),
    entry(&too_many_call_outputs::RULE, too_many_call_outputs::check),
    entry(&unknown_call_attribute::RULE, unknown_call_attribute::check),
    entry(&unknown_function::RULE, unknown_function::check),
    entry(&unknown_overload::RULE, unknown_overload::check),
];
