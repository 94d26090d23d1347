//! Rules about a graph as a whole.

mod actual_input_after_default;
pub(super) mod dimension_variable_not_identifier;
mod graph_name_missing;
mod graph_name_twice;
mod graph_output_not_produced;
mod markup_in_documentation;
pub(super) mod name_not_identifier;
pub(super) mod node_name_twice;
mod output_listed_twice;
mod quantization_annotation_dangling;
mod unknown_quantization_key;
pub(super) mod value_info_of_interface;
pub(super) mod value_info_twice;
pub(super) mod value_info_without_value;
mod value_name_missing;

use super::{Entry, entry};
use crate::cx::GraphCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut GraphCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&actual_input_after_default::RULE, actual_input_after_default::check),
    entry(&dimension_variable_not_identifier::RULE, dimension_variable_not_identifier::check),
    entry(&graph_name_missing::RULE, graph_name_missing::check),
    entry(&graph_name_twice::RULE, graph_name_twice::check),
    entry(&graph_output_not_produced::RULE, graph_output_not_produced::check),
    entry(&markup_in_documentation::RULE, markup_in_documentation::check),
    entry(&name_not_identifier::RULE, name_not_identifier::check),
    entry(&node_name_twice::RULE, node_name_twice::check),
    entry(&output_listed_twice::RULE, output_listed_twice::check),
    entry(&quantization_annotation_dangling::RULE, quantization_annotation_dangling::check),
    entry(&unknown_quantization_key::RULE, unknown_quantization_key::check),
    entry(&value_info_of_interface::RULE, value_info_of_interface::check),
    entry(&value_info_twice::RULE, value_info_twice::check),
    entry(&value_info_without_value::RULE, value_info_without_value::check),
    entry(&value_name_missing::RULE, value_name_missing::check),
];

/// Only the rule about names of values, for standalone inputs.
pub(crate) fn check_names(cx: &mut GraphCx<'_, '_>) {
    value_name_missing::check(cx);
}
