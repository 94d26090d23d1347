//! Rules about a node, its inputs and its outputs.

pub(super) mod attribute_given_twice;
mod default_domain_spelled_out;
mod deprecated_operator;
pub(super) mod domain_not_imported;
mod experimental_operator;
pub(super) mod missing_required_attribute;
pub(super) mod node_not_sorted;
mod node_without_values;
mod operand_left_out;
mod operator_missing;
pub(super) mod output_not_computed;
pub(super) mod unknown_operator;
mod value_never_defined;
pub(super) mod wrong_input_count;
pub(super) mod wrong_output_count;

use super::{Entry, entry};
use crate::cx::NodeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut NodeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&attribute_given_twice::RULE, attribute_given_twice::check),
    entry(&default_domain_spelled_out::RULE, default_domain_spelled_out::check),
    entry(&deprecated_operator::RULE, deprecated_operator::check),
    entry(&domain_not_imported::RULE, domain_not_imported::check),
    entry(&experimental_operator::RULE, experimental_operator::check),
    entry(&missing_required_attribute::RULE, missing_required_attribute::check),
    entry(&node_not_sorted::RULE, node_not_sorted::check),
    entry(&node_without_values::RULE, node_without_values::check),
    entry(&operand_left_out::RULE, operand_left_out::check),
    entry(&operator_missing::RULE, operator_missing::check),
    entry(&output_not_computed::RULE, output_not_computed::check),
    entry(&unknown_operator::RULE, unknown_operator::check),
    entry(&value_never_defined::RULE, value_never_defined::check),
    entry(&wrong_input_count::RULE, wrong_input_count::check),
    entry(&wrong_output_count::RULE, wrong_output_count::check),
];
