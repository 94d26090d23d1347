//! The steps that need more than a constant in the place of an attribute: one module for each operator or family, at the same
//! path as in inference.

use onnx_schema::{Schema, domain, op};
use onnx_types::Symbol;

use crate::step::{Reason, Step};

mod math;
mod ml;
pub(crate) mod moved;
mod nn;
mod quant;
mod rnn;
mod tensor;

/// Changes the node of a step so that it computes the same under the new schema.
pub(crate) type Adapt = fn(&mut Step<'_>) -> Result<(), Reason>;

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
    (op::CAST, 6, math::cast::numbered_types),
    (op::CLIP, 6, math::clip::infinite_bounds),
    (op::SELU, 6, math::unary::old_defaults),
    (op::ERF, 13, math::unary::through_float),
    (op::P_RELU, 7, math::prelu::channels),
    (op::SOFTMAX, 13, math::softmax::one_axis),
    (op::LOG_SOFTMAX, 13, math::softmax::one_axis),
    (op::HARDMAX, 13, math::softmax::one_axis),
    (op::BATCH_NORMALIZATION, 7, nn::batch_normalization::inference_mode),
    (op::BATCH_NORMALIZATION, 9, nn::batch_normalization::spatial),
    (op::BATCH_NORMALIZATION, 14, nn::batch_normalization::without_training),
    (op::GROUP_NORMALIZATION, 21, nn::normalization::parameters_of_channels),
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
    (op::ONE_HOT, 11, tensor::one_hot::no_negative_indices),
    (op::PAD, 2, tensor::pad::renamed),
    (op::RESIZE, 11, tensor::resize::asymmetric),
    (op::RESIZE, 13, tensor::resize::omitted_operands),
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

/// The function of a step.
pub(crate) fn find(schema: &Schema) -> Option<Adapt> {
    let table = if schema.domain() == domain::ML { ADAPTED_ML } else { ADAPTED };
    let found =
        table.iter().find(|(op, version, _)| (*op, *version) == (schema.op(), schema.since_version()));
    found.map(|(.., adapt)| *adapt)
}
