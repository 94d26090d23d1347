//! Operators that make elements from a seed, an attribute or sizes.

use super::attribute::{AttributeTraits, attribute};
use super::exclusion::{Exclusion, ExclusivePart, needed};
use super::kinds::{Operations, Rounding};
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const DENSE_OR_SPARSE: &[Exclusion] =
    &[needed(&[ExclusivePart::Attribute(attr::VALUE), ExclusivePart::Attribute(attr::SPARSE_VALUE)], "doc")];
const ONE_VALUE: &[Exclusion] = &[needed(
    &[
        ExclusivePart::Attribute(attr::VALUE),
        ExclusivePart::Attribute(attr::SPARSE_VALUE),
        ExclusivePart::Attribute(attr::VALUE_FLOAT),
        ExclusivePart::Attribute(attr::VALUE_FLOATS),
        ExclusivePart::Attribute(attr::VALUE_INT),
        ExclusivePart::Attribute(attr::VALUE_INTS),
        ExclusivePart::Attribute(attr::VALUE_STRING),
        ExclusivePart::Attribute(attr::VALUE_STRINGS),
    ],
    "doc",
)];

const DTYPE: &[AttributeTraits] = &[attribute(attr::DTYPE).element_type()];

const WINDOW_TYPE: &[AttributeTraits] = &[attribute(attr::OUTPUT_DATATYPE).element_type()];

const CONSTANT: &[AttributeTraits] = &[
    // Alternatives to the attribute `value`.
    attribute(attr::SPARSE_VALUE).neutral(),
    attribute(attr::VALUE_FLOAT).neutral(),
    attribute(attr::VALUE_FLOATS).neutral(),
    attribute(attr::VALUE_INT).neutral(),
    attribute(attr::VALUE_INTS).neutral(),
    attribute(attr::VALUE_STRING).neutral(),
    attribute(attr::VALUE_STRINGS).neutral(),
];

pub(super) const ROWS: &[Row] = &[
    row(op::BERNOULLI, computed().needs(Operations::None).attributes_are(DTYPE)),
    row(op::BLACKMAN_WINDOW, computed().numbers(&[0]).attributes_are(WINDOW_TYPE).sized_by(&[0])),
    row(op::CONSTANT, computed().needs(Operations::None).infallible().attributes_are(CONSTANT)).then(&[
        (
            11,
            computed()
                .needs(Operations::None)
                .infallible()
                .attributes_are(CONSTANT)
                .excludes(DENSE_OR_SPARSE),
        ),
        (12, computed().needs(Operations::None).infallible().attributes_are(CONSTANT).excludes(ONE_VALUE)),
    ]),
    row(op::CONSTANT_OF_SHAPE, computed().exact().needs(Operations::None).sized_by(&[0])),
    row(op::EYE_LIKE, computed().exact().needs(Operations::None).attributes_are(DTYPE)),
    row(op::HAMMING_WINDOW, computed().numbers(&[0]).attributes_are(WINDOW_TYPE).sized_by(&[0])),
    row(op::HANN_WINDOW, computed().numbers(&[0]).attributes_are(WINDOW_TYPE).sized_by(&[0])),
    row(
        op::MULTINOMIAL,
        computed()
            .needs(Operations::None)
            .attributes_are(&[attribute(attr::DTYPE).element_type(), attribute(attr::SAMPLE_SIZE).least(1)]),
    ),
    row(op::RANDOM_NORMAL, computed().needs(Operations::None).attributes_are(DTYPE)),
    row(op::RANDOM_NORMAL_LIKE, computed().needs(Operations::None).attributes_are(DTYPE)),
    row(op::RANDOM_UNIFORM, computed().needs(Operations::None).attributes_are(DTYPE)),
    row(op::RANDOM_UNIFORM_LIKE, computed().needs(Operations::None).attributes_are(DTYPE)),
    row(
        op::RANGE,
        computed()
            .piecewise()
            .rounds(Rounding::Accumulates)
            .needs(Operations::None)
            .numbers(&[0, 1, 2])
            .attributes_are(&[
                // A computation in `float` of types that the older version does not have.
                attribute(attr::STASH_TYPE).neutral(),
            ])
            .sized_by(&[0, 1, 2]),
    ),
];
