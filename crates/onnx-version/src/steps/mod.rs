//! The functions of the steps that do more than convert between an attribute and a constant operand: one module for
//! each operator or family, at the same path as in inference.

use onnx_schema::{Schema, domain, op};
use onnx_types::Symbol;

use crate::reason::VersionReason;
use crate::step::Step;

mod control;
mod generator;
mod logical;
mod math;
mod ml;
pub(crate) mod moved;
mod nn;
mod quant;
mod rnn;
mod sequence;
mod signal;
mod tensor;

/// Changes the node of a step so that it computes the same under the new schema.
pub(crate) type Adapt = fn(&mut Step<'_>) -> Result<(), VersionReason>;

/// The versions of operators with a function each.
const ADAPTED: &[(Symbol, i64, Adapt)] = &[
    (op::ADD, 7, math::binary::broadcast),
    (op::SUB, 7, math::binary::broadcast),
    (op::MUL, 7, math::binary::broadcast),
    (op::DIV, 7, math::binary::broadcast),
    (op::POW, 7, math::binary::broadcast),
    (op::AND, 7, math::binary::broadcast),
    (op::OR, 7, math::binary::broadcast),
    (op::XOR, 7, math::binary::broadcast),
    (op::EQUAL, 7, math::binary::broadcast),
    (op::GREATER, 7, math::binary::broadcast),
    (op::LESS, 7, math::binary::broadcast),
    (op::GEMM, 7, math::binary::gemm),
    (op::MAX, 8, math::variadic::without_broadcast),
    (op::MEAN, 8, math::variadic::without_broadcast),
    (op::MIN, 8, math::variadic::without_broadcast),
    (op::SUM, 8, math::variadic::without_broadcast),
    (op::CAST, 6, math::cast::numbered_types),
    (op::CLIP, 6, math::clip::stated_bounds),
    (op::SELU, 6, math::unary::old_defaults),
    (op::ERF, 13, math::unary::through_float),
    (op::P_RELU, 7, math::prelu::channels),
    (op::SOFTMAX, 11, math::softmax::existing_axis),
    (op::LOG_SOFTMAX, 11, math::softmax::existing_axis),
    (op::HARDMAX, 11, math::softmax::existing_axis),
    (op::SOFTMAX, 13, math::softmax::one_axis),
    (op::LOG_SOFTMAX, 13, math::softmax::one_axis),
    (op::HARDMAX, 13, math::softmax::one_axis),
    (op::ATTENTION, 24, nn::attention::expanded_mask),
    (op::ATTENTION, 25, nn::attention::in_pairs),
    (op::BATCH_NORMALIZATION, 7, nn::batch_normalization::inference_mode),
    (op::BATCH_NORMALIZATION, 9, nn::batch_normalization::spatial),
    (op::BATCH_NORMALIZATION, 14, nn::batch_normalization::without_training),
    (op::GROUP_NORMALIZATION, 21, nn::normalization::parameters_of_channels),
    (op::AVERAGE_POOL, 22, nn::pool::no_window_in_padding),
    (op::MAX_POOL, 22, nn::pool::no_window_in_padding),
    (op::LP_POOL, 22, nn::pool::no_window_in_padding),
    (op::LP_POOL, 2, nn::pool::integral_exponent),
    (op::GLOBAL_LP_POOL, 2, nn::pool::integral_exponent),
    (op::ROI_ALIGN, 16, nn::roi_align::without_offset),
    (op::QUANTIZE_LINEAR, 19, quant::linear::float_operand),
    (op::REDUCE_LOG_SUM, 28, math::unary::through_float),
    (op::REDUCE_LOG_SUM_EXP, 28, math::unary::through_float),
    (op::GRU, 7, rnn::recurrent::all_outputs),
    (op::LSTM, 7, rnn::recurrent::all_outputs),
    (op::RNN, 7, rnn::recurrent::all_outputs),
    (op::CONCAT, 4, tensor::concat::explicit_axis),
    (op::DROPOUT, 7, tensor::dropout::inference_mode),
    (op::DROPOUT, 10, tensor::dropout::boolean_mask),
    (op::GRID_SAMPLE, 20, tensor::grid_sample::renamed_modes),
    (op::PAD, 2, tensor::pad::renamed),
    (op::RESHAPE, 14, tensor::reshape::shape_of_value),
    (op::RESIZE, 11, tensor::resize::asymmetric),
    (op::RESIZE, 13, tensor::resize::omitted_operands),
    (op::SCAN, 9, control::scan::without_batch),
    (op::SCATTER, 11, tensor::scatter::elements),
    (op::SPLIT, 2, tensor::split::attribute),
    (op::SPLIT, 18, tensor::split::number_of_outputs),
    (op::TILE, 6, tensor::tile::all_axes),
    (op::UPSAMPLE, 7, tensor::upsample::all_axes),
    (op::UPSAMPLE, 10, tensor::upsample::resize),
];

const ADAPTED_ML: &[(Symbol, i64, Adapt)] = &[
    (op::LABEL_ENCODER, 2, ml::label_encoder::two_lists),
    (op::LABEL_ENCODER, 4, ml::label_encoder::unique_keys),
];

/// The versions of operators with a function each for the downward step from them.
const DOWN: &[(Symbol, i64, Adapt)] = &[
    (op::ADD, 7, math::binary::explicit_broadcast),
    (op::SUB, 7, math::binary::explicit_broadcast),
    (op::MUL, 7, math::binary::explicit_broadcast),
    (op::DIV, 7, math::binary::explicit_broadcast),
    (op::POW, 7, math::binary::explicit_broadcast),
    (op::AND, 7, math::binary::explicit_broadcast),
    (op::OR, 7, math::binary::explicit_broadcast),
    (op::XOR, 7, math::binary::explicit_broadcast),
    (op::EQUAL, 7, math::binary::explicit_broadcast),
    (op::GREATER, 7, math::binary::explicit_broadcast),
    (op::LESS, 7, math::binary::explicit_broadcast),
    (op::GEMM, 7, math::binary::explicit_gemm),
    (op::GEMM, 11, math::binary::gemm_with_c),
    (op::POW, 12, math::binary::exponent_of_base),
    (op::GEMM, 9, math::mat_mul::gemm_of_integers),
    (op::MAT_MUL, 9, math::mat_mul::integers),
    (op::GREATER, 9, math::binary::compared_as_double),
    (op::LESS, 9, math::binary::compared_as_double),
    (op::EQUAL, 11, math::binary::equal_floats),
    (op::MOD, 28, math::binary::remainder_of_floats),
    (op::BIT_SHIFT, 28, logical::bits::within_type),
    (op::ARG_MAX, 12, math::arg::reversed),
    (op::ARG_MIN, 12, math::arg::reversed),
    (op::CAST, 6, math::cast::named_types),
    (op::CAST, 19, math::cast::without_rounding_modes),
    (op::CAST_LIKE, 19, math::cast::without_rounding_modes),
    (op::CAST, 24, math::cast::without_rounding_modes),
    (op::CAST_LIKE, 24, math::cast::without_rounding_modes),
    (op::CLIP, 11, math::clip::attributes),
    (op::P_RELU, 7, math::prelu::list_of_channels),
    (op::P_RELU, 9, math::prelu::integers),
    (op::REDUCE_SUM, 13, math::reduce::attributes),
    (op::REDUCE_L1, 18, math::reduce::attributes),
    (op::REDUCE_L2, 18, math::reduce::attributes),
    (op::REDUCE_LOG_SUM, 18, math::reduce::attributes),
    (op::REDUCE_LOG_SUM_EXP, 18, math::reduce::attributes),
    (op::REDUCE_MAX, 18, math::reduce::attributes),
    (op::REDUCE_MEAN, 18, math::reduce::attributes),
    (op::REDUCE_MIN, 18, math::reduce::attributes),
    (op::REDUCE_PROD, 18, math::reduce::attributes),
    (op::REDUCE_SUM_SQUARE, 18, math::reduce::attributes),
    (op::SOFTMAX, 13, math::softmax::last_axis),
    (op::LOG_SOFTMAX, 13, math::softmax::last_axis),
    (op::HARDMAX, 13, math::softmax::last_axis),
    (op::MAX, 8, math::variadic::one_shape),
    (op::MIN, 8, math::variadic::one_shape),
    (op::SUM, 8, math::variadic::one_shape),
    (op::MEAN, 8, math::variadic::one_shape),
    (op::ATTENTION, 24, nn::attention::whole_mask),
    (op::AVERAGE_POOL, 19, nn::pool::without_dilations),
    (op::AVERAGE_POOL, 22, nn::pool::windows_in_data),
    (op::MAX_POOL, 22, nn::pool::windows_in_data),
    (op::LP_POOL, 22, nn::pool::windows_in_data),
    (op::BATCH_NORMALIZATION, 6, nn::batch_normalization::nothing_consumed),
    (op::BATCH_NORMALIZATION, 7, nn::batch_normalization::explicit_mode),
    (op::BATCH_NORMALIZATION, 14, nn::batch_normalization::training_by_outputs),
    (op::LP_POOL, 2, nn::pool::float_exponent),
    (op::GLOBAL_LP_POOL, 2, nn::pool::float_exponent),
    (op::ROI_ALIGN, 16, nn::roi_align::only_without_offset),
    (op::QUANTIZE_LINEAR, 13, quant::linear::one_scale),
    (op::DEQUANTIZE_LINEAR, 13, quant::linear::one_scale),
    (op::QUANTIZE_LINEAR, 19, quant::linear::without_saturate),
    (op::QUANTIZE_LINEAR, 21, quant::linear::type_of_zero_point),
    (op::QUANTIZE_LINEAR, 23, quant::linear::one_precision),
    (op::DEQUANTIZE_LINEAR, 21, quant::linear::narrow_integers),
    (op::DEQUANTIZE_LINEAR, 23, quant::linear::type_of_scale),
    (op::GRU, 7, rnn::recurrent::explicit_sequence),
    (op::LSTM, 7, rnn::recurrent::explicit_sequence),
    (op::RNN, 7, rnn::recurrent::explicit_sequence),
    (op::GRU, 14, rnn::recurrent::batch_second),
    (op::LSTM, 14, rnn::recurrent::batch_second),
    (op::RNN, 14, rnn::recurrent::batch_second),
    (op::DROPOUT, 7, tensor::dropout::explicit_mode),
    (op::DROPOUT, 10, tensor::dropout::mask_like_operand),
    (op::DROPOUT, 12, tensor::dropout::never_trains),
    (op::CONSTANT, 9, tensor::constant::only_floats),
    (op::CONSTANT, 11, tensor::constant::not_sparse),
    (op::CONSTANT, 12, tensor::constant::dense),
    (op::DEPTH_TO_SPACE, 11, tensor::depth_space::depth_first),
    (op::SPACE_TO_DEPTH, 28, tensor::depth_space::depth_first),
    (op::DFT, 20, signal::dft::axis),
    (op::FLATTEN, 9, tensor::flatten::reshaped),
    (op::GATHER, 11, tensor::gather::indices_from_front),
    (op::GRID_SAMPLE, 20, tensor::grid_sample::former_modes),
    (op::IF, 11, control::conditional::equal_shapes),
    (op::OPTIONAL_HAS_ELEMENT, 18, sequence::optional::only_optional),
    (op::OPTIONAL_GET_ELEMENT, 18, sequence::optional::only_optional),
    (op::PAD, 2, tensor::pad::former_name),
    (op::PAD, 18, tensor::pad::all_axes),
    (op::PAD, 19, tensor::pad::not_wrapped),
    (op::RANGE, 27, generator::range::as_float),
    (op::RESHAPE, 14, tensor::reshape::zero_copies),
    (op::RESIZE, 11, tensor::resize::only_asymmetric),
    (op::RESIZE, 13, tensor::resize::empty_operands),
    (op::RESIZE, 18, tensor::resize::all_axes),
    (op::RESIZE, 19, tensor::resize::not_symmetric),
    (op::SCATTER_ELEMENTS, 18, tensor::scatter::without_extremes),
    (op::SCATTER_ND, 18, tensor::scatter::without_extremes),
    (op::SCAN, 9, control::scan::batch_of_one),
    (op::SCAN, 11, control::scan::axes_from_front),
    (op::SHAPE, 15, tensor::shape::sliced),
    (op::SLICE, 10, tensor::slice::attributes),
    (op::SLICE, 11, tensor::slice::axes_from_front),
    (op::SPLIT, 18, tensor::split::sizes_of_parts),
    (op::TILE, 6, tensor::tile::one_axis),
    (op::ONE_HOT, 11, tensor::one_hot::indices_from_front),
    (op::TOP_K, 10, tensor::top_k::positive_number),
    (op::TOP_K, 11, tensor::top_k::largest),
    (op::UPSAMPLE, 7, tensor::upsample::height_and_width),
];

const DOWN_ML: &[(Symbol, i64, Adapt)] = &[
    (op::LABEL_ENCODER, 2, ml::label_encoder::one_list),
    (op::LABEL_ENCODER, 4, ml::label_encoder::unique_keys),
    (op::TREE_ENSEMBLE_CLASSIFIER, 3, ml::trees::without_tensors),
    (op::TREE_ENSEMBLE_REGRESSOR, 3, ml::trees::without_tensors),
];

/// Operators whose first version is the given one, with a function that replaces them by others.
const LOWERED: &[(Symbol, i64, Adapt)] = &[
    (op::CONSTANT_OF_SHAPE, 9, generator::constant_of_shape::expanded),
    (op::EXPAND, 8, tensor::expand::tiled),
    (op::RESIZE, 10, tensor::upsample::former_name),
    (op::SCATTER_ELEMENTS, 11, tensor::scatter::former_name),
    (op::TRILU, 14, tensor::trilu::masked),
];

/// The function of a step.
pub(crate) fn find(schema: &Schema) -> Option<Adapt> {
    in_table(if schema.domain() == domain::ML { ADAPTED_ML } else { ADAPTED }, schema)
}

/// The function of the downward step from a version.
pub(crate) fn find_down(schema: &Schema) -> Option<Adapt> {
    in_table(if schema.domain() == domain::ML { DOWN_ML } else { DOWN }, schema)
}

/// The function that replaces an operator that older versions do not have by others.
pub(crate) fn find_lowering(schema: &Schema) -> Option<Adapt> {
    if schema.domain() == domain::ONNX { in_table(LOWERED, schema) } else { None }
}

fn in_table(table: &[(Symbol, i64, Adapt)], schema: &Schema) -> Option<Adapt> {
    let key = (schema.op(), schema.since_version());
    table.iter().find(|(op, version, _)| (*op, *version) == key).map(|&(.., adapt)| adapt)
}
