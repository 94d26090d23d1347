//! Rules about an attribute of a node, or about all of them together.

pub(super) mod activation_count_wrong;
pub(super) mod attribute_kind_contradicts_value;
mod attribute_kind_missing;
mod attribute_kind_undefined;
mod attribute_lengths_differ;
mod attribute_name_missing;
mod attribute_named_like_value;
mod attribute_not_utf8;
pub(super) mod attribute_number_out_of_range;
pub(super) mod attribute_string_not_allowed;
mod attribute_string_padded;
mod attribute_value_left_out;
pub(super) mod attribute_without_value;
mod axis_out_of_range;
pub(super) mod element_type_not_allowed;
pub(super) mod exclusive_attributes;
mod named_value_missing;
mod perm_not_a_permutation;
mod scale_does_not_fit;
mod spatial_attribute_length;
pub(super) mod unknown_attribute;
pub(super) mod wrong_attribute_kind;

use onnx_diag::{Diagnostic, Locus, Quoted, Rule};
use onnx_ir::AttrValue;

use super::{Entry, entry, node};
use crate::cx::AttributeCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut AttributeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&attribute_kind_contradicts_value::RULE, attribute_kind_contradicts_value::check),
    entry(&attribute_kind_missing::RULE, attribute_kind_missing::check),
    entry(&attribute_kind_undefined::RULE, attribute_kind_undefined::check),
    entry(&attribute_name_missing::RULE, attribute_name_missing::check),
    entry(&attribute_named_like_value::RULE, attribute_named_like_value::check),
    entry(&attribute_not_utf8::RULE, attribute_not_utf8::check),
    entry(&attribute_number_out_of_range::RULE, attribute_number_out_of_range::check),
    entry(&attribute_string_not_allowed::RULE, attribute_string_not_allowed::check),
    entry(&attribute_string_padded::RULE, attribute_string_padded::check),
    entry(&attribute_value_left_out::RULE, attribute_value_left_out::check),
    entry(&attribute_without_value::RULE, attribute_without_value::check),
    entry(&axis_out_of_range::RULE, axis_out_of_range::check),
    entry(&element_type_not_allowed::RULE, element_type_not_allowed::check),
    entry(&perm_not_a_permutation::RULE, perm_not_a_permutation::check),
    entry(&unknown_attribute::RULE, unknown_attribute::check),
    entry(&wrong_attribute_kind::RULE, wrong_attribute_kind::check),
];

/// Rules about all attributes of a node together, in alphabetical order. They are called once for each node.
pub(crate) static NODE_ENTRIES: &[Entry<node::Check>] = &[
    entry(&activation_count_wrong::RULE, activation_count_wrong::check),
    entry(&attribute_lengths_differ::RULE, attribute_lengths_differ::check),
    entry(&exclusive_attributes::RULE, exclusive_attributes::check),
    entry(&named_value_missing::RULE, named_value_missing::check),
    entry(&scale_does_not_fit::RULE, scale_does_not_fit::check),
    entry(&spatial_attribute_length::RULE, spatial_attribute_length::check),
];

/// Reports the first string of an attribute that is `wrong`, at the attribute or at the element of its list.
fn report_string(
    cx: &mut AttributeCx<'_, '_>,
    rule: &'static Rule,
    wrong: impl Fn(&[u8]) -> bool,
    finding: impl FnOnce(Locus, Quoted<'_>) -> Diagnostic,
) {
    let (strings, is_list) = match cx.attribute.value() {
        AttrValue::String(string) => (std::slice::from_ref(string), false),
        AttrValue::Strings(strings) => (strings.as_slice(), true),
        _ => return,
    };
    let Some(index) = strings.iter().position(|string| wrong(string)) else { return };
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(rule, |places| {
        let place = places.attribute(node, name);
        finding(if is_list { place.element(index) } else { place }, Quoted(places.str(name)))
    });
}
