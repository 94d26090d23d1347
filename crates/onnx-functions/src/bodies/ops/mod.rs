//! The bodies that depend on the node, one file for each operator.

mod control;
mod generator;
mod math;
mod nn;
mod tensor;
mod training;

use onnx_schema::{Schema, domain, op};

use super::draft::{Draft, Made, V};

/// Adds the nodes of a body, and returns its outputs: at least as many as the node has.
pub(super) type Write = fn(&mut Draft<'_>) -> Made<Vec<V>>;

/// The function that adds the body of an operator.
pub(super) fn body(schema: &Schema) -> Option<Write> {
    if schema.domain() == domain::PREVIEW {
        return (schema.op() == op::FLEX_ATTENTION).then_some(training::flex_attention::body as Write);
    }
    Some(match schema.op() {
        op::ATTENTION => nn::attention::body,
        op::BERNOULLI => generator::random::body,
        op::CAST_LIKE => math::cast::body,
        op::CAUSAL_CONV_WITH_STATE => nn::causal_conv_with_state::body,
        op::CELU => math::celu::body,
        op::CENTER_CROP_PAD => tensor::center_crop_pad::body,
        op::CLIP => math::clip::body,
        op::DEPTH_TO_SPACE => tensor::depth_space::to_space,
        op::GELU => math::gelu::body,
        op::GROUP_NORMALIZATION => nn::group_normalization::body,
        op::LAYER_NORMALIZATION => nn::layer_normalization::body,
        op::LINEAR_ATTENTION => nn::linear_attention::body,
        op::LOG_SOFTMAX => math::softmax::log_body,
        op::NEGATIVE_LOG_LIKELIHOOD_LOSS => nn::loss::likelihood,
        op::RMS_NORMALIZATION => nn::layer_normalization::root_mean_square,
        op::RANGE => generator::range::body,
        op::ROTARY_EMBEDDING => nn::rotary_embedding::body,
        op::SEQUENCE_MAP => control::sequence_map::body,
        op::SOFTMAX => math::softmax::body,
        op::SOFTMAX_CROSS_ENTROPY_LOSS => nn::loss::cross_entropy,
        op::SPACE_TO_DEPTH => tensor::depth_space::to_depth,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn every_body_that_depends_on_the_node_is_written() {
        let mut count = 0;
        for schema in onnx_schema::all() {
            let depends = !schema.context_function_versions().is_empty();
            assert!(!depends || body(schema).is_some(), "{schema} has no body");
            count += usize::from(depends);
        }
        assert_eq!(count, 34);
    }
}
