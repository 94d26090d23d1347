//! Rules about a graph as a whole.

mod actual_input_after_default;
pub(crate) mod dimension_variable_not_identifier;
mod graph_name_missing;
mod graph_name_twice;
mod graph_output_not_produced;
mod markup_in_documentation;
pub(crate) mod name_not_identifier;
pub(super) mod node_name_twice;
mod output_listed_twice;
mod quantization_annotation_dangling;
mod unknown_quantization_key;
pub(super) mod value_info_of_interface;
pub(super) mod value_info_twice;
pub(super) mod value_info_without_value;
mod value_name_missing;

use onnx_diag::Rule;

use super::{Entry, entry};
use crate::cx::GraphCx;

/// A rule of this unit.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    /// Looks for the defect.
    pub(crate) run: fn(&mut GraphCx<'_, '_>),
    /// The parts of the graph that it reads.
    pub(crate) reads: Reads,
}

const fn reading(reads: Reads, rule: &'static Rule, run: fn(&mut GraphCx<'_, '_>)) -> Entry<Check> {
    entry(rule, Check { run, reads })
}

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    reading(Reads::INTERFACE, &actual_input_after_default::RULE, actual_input_after_default::check),
    reading(
        Reads::VARIABLES,
        &dimension_variable_not_identifier::RULE,
        dimension_variable_not_identifier::check,
    ),
    reading(Reads::TEXTS, &graph_name_missing::RULE, graph_name_missing::check),
    reading(Reads::GRAPH_NAMES, &graph_name_twice::RULE, graph_name_twice::check),
    reading(Reads::INTERFACE, &graph_output_not_produced::RULE, graph_output_not_produced::check),
    reading(Reads::TEXTS, &markup_in_documentation::RULE, markup_in_documentation::check),
    reading(Reads::NAMES, &name_not_identifier::RULE, name_not_identifier::check),
    reading(Reads::NODE_NAMES, &node_name_twice::RULE, node_name_twice::check),
    reading(Reads::INTERFACE, &output_listed_twice::RULE, output_listed_twice::check),
    reading(Reads::TEXTS, &quantization_annotation_dangling::RULE, quantization_annotation_dangling::check),
    reading(Reads::TEXTS, &unknown_quantization_key::RULE, unknown_quantization_key::check),
    reading(
        Reads::INTERFACE.and(Reads::INFO).and(Reads::SHARED),
        &value_info_of_interface::RULE,
        value_info_of_interface::check,
    ),
    reading(Reads::INFO.and(Reads::SHARED), &value_info_twice::RULE, value_info_twice::check),
    reading(Reads::INFO, &value_info_without_value::RULE, value_info_without_value::check),
    reading(Reads::INTERFACE.and(Reads::NAMELESS), &value_name_missing::RULE, value_name_missing::check),
];

/// The parts of a graph that a rule reads: after an edit of one of them it runs again.
#[derive(Clone, Copy)]
pub(crate) struct Reads(u16);

impl Reads {
    /// Name, documentation and annotations of the graph, and the documentation of the model.
    pub(crate) const TEXTS: Self = Self(1);
    /// The inputs and outputs, with definitions, names and defaults.
    pub(crate) const INTERFACE: Self = Self(1 << 1);
    /// The list `value_info`, with definitions.
    pub(crate) const INFO: Self = Self(1 << 2);
    /// Two values with one name.
    pub(crate) const SHARED: Self = Self(1 << 3);
    /// Initializers without a name.
    pub(crate) const NAMELESS: Self = Self(1 << 4);
    /// Two nodes with one name.
    pub(crate) const NODE_NAMES: Self = Self(1 << 5);
    /// The names of all graphs; for rules that run for the main graph only, as the next two.
    pub(crate) const GRAPH_NAMES: Self = Self(1 << 6);
    /// Names that are not identifiers.
    pub(crate) const NAMES: Self = Self(1 << 7);
    /// Dimension variables that are not identifiers.
    pub(crate) const VARIABLES: Self = Self(1 << 8);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Only the rule about names of values, for standalone inputs.
pub(crate) fn check_names(cx: &mut GraphCx<'_, '_>) {
    value_name_missing::check(cx);
}
