//! The numbers that integer attributes of operators can be.

use std::ops::RangeInclusive;

use onnx_schema::{attr, op};
use onnx_types::Symbol;

/// What an integer attribute, or every entry of a list, can be; `None` where nothing is fixed. No version changes these.
pub fn range(op: Symbol, name: Symbol) -> Option<RangeInclusive<i64>> {
    let least = match name {
        attr::STRIDES | attr::DILATIONS | attr::KERNEL_SHAPE if is_window(op) => 1,
        attr::STRIDES | attr::DILATIONS if op == op::COL2IM => 1,
        // A convolution with offsets does not say that its padding adds.
        attr::PADS if is_window(op) && op != op::DEFORM_CONV && op != op::MAX_UNPOOL => 0,
        attr::GROUP if is_window(op) => 1,
        attr::OFFSET_GROUP if op == op::DEFORM_CONV => 1,
        attr::BLOCKSIZE if matches!(op, op::DEPTH_TO_SPACE | op::SPACE_TO_DEPTH) => 1,
        attr::NUM_GROUPS if op == op::GROUP_NORMALIZATION => 1,
        attr::NUM_OUTPUTS if op == op::SPLIT => 1,
        attr::HIDDEN_SIZE if matches!(op, op::GRU | op::LSTM | op::RNN) => 1,
        // 0 is the default and stands for no blocks.
        attr::BLOCK_SIZE if matches!(op, op::QUANTIZE_LINEAR | op::DEQUANTIZE_LINEAR) => 0,
        attr::NUM_SCAN_INPUTS if op == op::SCAN => 1,
        attr::SIZE if op == op::LRN => 1,
        attr::SAMPLE_SIZE if op == op::MULTINOMIAL => 1,
        attr::OUTPUT_HEIGHT | attr::OUTPUT_WIDTH if op == op::ROI_ALIGN => 1,
        attr::Q_NUM_HEADS | attr::KV_NUM_HEADS if op == op::ATTENTION => 1,
        // -1 stands for no bound.
        attr::LEFT_WINDOW_SIZE | attr::RIGHT_WINDOW_SIZE if op == op::ATTENTION => -1,
        // Writers give 0 heads where the input tells them.
        attr::NUM_HEADS | attr::ROTARY_EMBEDDING_DIM if op == op::ROTARY_EMBEDDING => 0,
        _ => return choice(op, name),
    };
    Some(least..=i64::MAX)
}

/// Numbers that stand for alternatives.
fn choice(op: Symbol, name: Symbol) -> Option<RangeInclusive<i64>> {
    match name {
        attr::BATCH_AXIS | attr::TIME_AXIS if op == op::REVERSE_SEQUENCE => Some(0..=1),
        attr::DIRECTIONS | attr::SCAN_INPUT_DIRECTIONS | attr::SCAN_OUTPUT_DIRECTIONS if op == op::SCAN => {
            Some(0..=1)
        }
        attr::STORAGE_ORDER if op == op::MAX_POOL => Some(0..=1),
        attr::LAYOUT if matches!(op, op::GRU | op::LSTM | op::RNN) => Some(0..=1),
        attr::P if op == op::LP_NORMALIZATION => Some(1..=2),
        attr::QK_MATMUL_OUTPUT_MODE if op == op::ATTENTION => Some(0..=3),
        attr::INTERLEAVED if op == op::ROTARY_EMBEDDING => Some(0..=1),
        _ => None,
    }
}

/// Whether the operator moves a window over its input.
const fn is_window(op: Symbol) -> bool {
    matches!(
        op,
        op::AVERAGE_POOL
            | op::CONV
            | op::CONV_INTEGER
            | op::CONV_TRANSPOSE
            | op::DEFORM_CONV
            | op::LP_POOL
            | op::MAX_POOL
            | op::MAX_UNPOOL
            | op::Q_LINEAR_CONV
    )
}

#[cfg(test)]
mod tests {
    use onnx_schema::AttrDefault;

    use super::*;

    #[test]
    fn defaults_are_in_range() {
        for schema in onnx_schema::all() {
            for formal in schema.attributes() {
                let Some(range) = range(schema.op(), formal.name) else { continue };
                let defaults = match &formal.default {
                    Some(AttrDefault::Int(default)) => std::slice::from_ref(default),
                    Some(AttrDefault::Ints(defaults)) => defaults,
                    _ => &[],
                };
                assert!(defaults.iter().all(|default| range.contains(default)), "{schema} {}", formal.text());
            }
        }
    }
}
