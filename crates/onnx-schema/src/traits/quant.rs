//! Quantization.

use super::attribute::{AttributeTraits, attribute};
use super::kinds::{Combines, Operations};
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const QUANTIZE_LINEAR: &[AttributeTraits] = &[
    // A scale of rank 0 quantizes the whole tensor: there is neither an axis nor a block.
    attribute(attr::AXIS).neutral(),
    // 0 is the default and stands for no blocks.
    attribute(attr::BLOCK_SIZE).least(0).neutral(),
    // The types of the zero point and of the scale decide, as before.
    attribute(attr::OUTPUT_DTYPE).element_type().neutral(),
    attribute(attr::PRECISION).neutral(),
    // Affects only conversions to 8-bit floats, which the older versions do not have.
    attribute(attr::SATURATE).neutral(),
];

pub(super) const ROWS: &[Row] = &[
    row(
        op::DEQUANTIZE_LINEAR,
        computed().needs(Operations::Each(2)).attributes_are(&[
            // 0 is the default and stands for no blocks.
            attribute(attr::BLOCK_SIZE).least(0),
            attribute(attr::OUTPUT_DTYPE).element_type(),
        ]),
    ),
    row(
        op::DYNAMIC_QUANTIZE_LINEAR,
        computed().along(Combines::All).needs(Operations::Each(5)).undefined_for_some(),
    ),
    row(
        op::QUANTIZE_LINEAR,
        computed().jumping().needs(Operations::Each(3)).undefined_for_some().attributes_are(QUANTIZE_LINEAR),
    ),
];
