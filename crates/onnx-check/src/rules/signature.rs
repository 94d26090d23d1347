//! The rules that a node has to follow to have a meaning: those about the signature of its operator.

use onnx_schema::op;

use super::{Entry, attribute, entry, node};
use crate::cx::{AttributeCx, NodeCx};
use crate::rules::attribute::{
    activation_count_wrong, attribute_kind_contradicts_value, attribute_number_out_of_range,
    attribute_string_not_allowed, attribute_without_value, element_type_not_allowed, exclusive_attributes,
    unknown_attribute, wrong_attribute_kind,
};
use crate::rules::node::{
    attribute_given_twice, missing_required_attribute, output_not_computed, unknown_operator,
    wrong_input_count, wrong_output_count,
};

/// About a node as a whole.
pub(crate) static NODE: &[Entry<node::Check>] = &[
    entry(&unknown_operator::RULE, of_another_version),
    entry(&wrong_input_count::RULE, wrong_input_count::check),
    entry(&wrong_output_count::RULE, wrong_output_count::check),
    entry(&output_not_computed::RULE, output_not_computed::check),
    entry(&attribute_given_twice::RULE, attribute_given_twice::check),
    entry(&missing_required_attribute::RULE, missing_required_attribute::check),
    entry(&exclusive_attributes::RULE, exclusive_attributes::check),
    entry(&activation_count_wrong::RULE, activation_count_wrong::check),
];

/// About an attribute.
pub(crate) static ATTRIBUTE: &[Entry<attribute::Check>] = &[
    entry(&unknown_attribute::RULE, unknown_attribute::check),
    entry(&wrong_attribute_kind::RULE, wrong_attribute_kind::check),
    entry(&attribute_kind_contradicts_value::RULE, attribute_kind_contradicts_value::check),
    entry(&attribute_without_value::RULE, attribute_without_value::check),
    entry(&attribute_string_not_allowed::RULE, attribute_string_not_allowed::check),
    entry(&attribute_number_out_of_range::RULE, attribute_number_out_of_range::check),
    entry(&element_type_not_allowed::RULE, of_unknown_result),
];

/// An operator that other versions of the operator set have. One that no version has is opaque to every command, as is that of
/// an unknown domain.
fn of_another_version(cx: &mut NodeCx<'_, '_>) {
    if !onnx_schema::versions(cx.node.domain(), cx.node.op()).is_empty() {
        unknown_operator::check(cx);
    }
}

/// An element type that decides what the operator computes. The result of `Constant` is the tensor that it has, also of a type
/// that only newer versions allow: before version 9 many models have such nodes, and runtimes accept them.
fn of_unknown_result(cx: &mut AttributeCx<'_, '_>) {
    if cx.schema.is_none_or(|schema| schema.op() != op::CONSTANT) {
        element_type_not_allowed::check(cx);
    }
}
