//! Rules about a tensor.

mod data_beside_external;
mod external_data_unclear;
mod external_key_unknown;
mod external_location_refused;
mod negative_tensor_dimension;
mod six_bit_float_invalid;
mod tensor_data_in_wrong_field;
mod tensor_data_size;
mod tensor_element_invalid;
mod tensor_element_nan;
mod tensor_segment;
mod tensor_string_padded;
mod tensor_type_unknown;
mod unused_external_data;

use super::{Entry, entry};
use crate::cx::TensorCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut TensorCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&data_beside_external::RULE, data_beside_external::check),
    entry(&external_data_unclear::RULE, external_data_unclear::check),
    entry(&external_key_unknown::RULE, external_key_unknown::check),
    entry(&external_location_refused::RULE, external_location_refused::check),
    entry(&negative_tensor_dimension::RULE, negative_tensor_dimension::check),
    entry(&six_bit_float_invalid::RULE, six_bit_float_invalid::check),
    entry(&tensor_data_in_wrong_field::RULE, tensor_data_in_wrong_field::check),
    entry(&tensor_data_size::RULE, tensor_data_size::check),
    entry(&tensor_element_invalid::RULE, tensor_element_invalid::check),
    entry(&tensor_element_nan::RULE, tensor_element_nan::check),
    entry(&tensor_segment::RULE, tensor_segment::check),
    entry(&tensor_string_padded::RULE, tensor_string_padded::check),
    entry(&tensor_type_unknown::RULE, tensor_type_unknown::check),
    entry(&unused_external_data::RULE, unused_external_data::check),
];
