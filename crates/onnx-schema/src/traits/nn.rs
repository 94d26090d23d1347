//! Convolutions, pooling, normalization and attention.

use super::attribute::{AttributeTraits, AxisDomain, attribute};
use super::exclusion::PADDING;
use super::kinds::{Combines, CostWeight, Operations, Window};
use super::row::{Row, computed, normalized, row};
use crate::generated::names::{attr, op};

const PADDINGS: &[&str] = &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"];

const ATTENTION: &[AttributeTraits] = &[
    attribute(attr::KV_NUM_HEADS).least(1),
    // -1 stands for no bound.
    attribute(attr::LEFT_WINDOW_SIZE).least(-1),
    attribute(attr::QK_MATMUL_OUTPUT_MODE).between(0, 3),
    attribute(attr::Q_NUM_HEADS).least(1),
    attribute(attr::RIGHT_WINDOW_SIZE).least(-1),
];

const POOL: &[AttributeTraits] = &[
    attribute(attr::AUTO_PAD).one_of(PADDINGS),
    attribute(attr::DILATIONS).least(1),
    attribute(attr::KERNEL_SHAPE).least(1),
    attribute(attr::PADS).least(0),
    attribute(attr::STRIDES).least(1),
];

const CONVOLUTION: &[AttributeTraits] = &[
    attribute(attr::AUTO_PAD).one_of(PADDINGS),
    attribute(attr::DILATIONS).least(1),
    attribute(attr::GROUP).least(1),
    attribute(attr::KERNEL_SHAPE).least(1),
    attribute(attr::PADS).least(0),
    attribute(attr::STRIDES).least(1),
];

const DEFORM_CONV: &[AttributeTraits] = &[
    attribute(attr::DILATIONS).least(1),
    attribute(attr::GROUP).least(1),
    attribute(attr::KERNEL_SHAPE).least(1),
    attribute(attr::OFFSET_GROUP).least(1),
    attribute(attr::STRIDES).least(1),
];

const OWN_AXIS: &[AttributeTraits] = &[attribute(attr::AXIS).axis(AxisDomain::Own)];

const MAX_POOL: &[AttributeTraits] = &[
    attribute(attr::AUTO_PAD).one_of(PADDINGS),
    attribute(attr::DILATIONS).least(1),
    attribute(attr::KERNEL_SHAPE).least(1),
    attribute(attr::PADS).least(0),
    attribute(attr::STORAGE_ORDER).between(0, 1),
    attribute(attr::STRIDES).least(1),
];

const LOSS: &[AttributeTraits] = &[attribute(attr::REDUCTION).one_of(&["none", "sum", "mean"])];

const ROI_ALIGN: &[AttributeTraits] = &[
    attribute(attr::COORDINATE_TRANSFORMATION_MODE).from(16).one_of(&["half_pixel", "output_half_pixel"]),
    attribute(attr::MODE).one_of(&["avg", "max"]),
    attribute(attr::OUTPUT_HEIGHT).least(1),
    attribute(attr::OUTPUT_WIDTH).least(1),
];

pub(super) const ROWS: &[Row] = &[
    row(
        op::ATTENTION,
        computed()
            .contracting()
            .needs(Operations::Formula)
            .weighs(CostWeight::Heavy)
            .attributes_are(ATTENTION),
    ),
    row(
        op::AVERAGE_POOL,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Pooling)
            .needs(Operations::Window { read: 1, made: 1 })
            .attributes_are(POOL)
            .excludes(PADDING),
    ),
    row(op::BATCH_NORMALIZATION, computed().needs(Operations::Formula).weighs(CostWeight::Function))
        .same_since(9),
    row(
        op::CAUSAL_CONV_WITH_STATE,
        computed().attributes_are(&[attribute(attr::ACTIVATION).one_of(&["silu", "swish", "none"])]),
    ),
    row(
        op::CONV,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Weights(1))
            .contracting()
            .needs(Operations::Convolution { bias: Some(2) })
            .weighs(CostWeight::Heavy)
            .attributes_are(CONVOLUTION)
            .excludes(PADDING),
    ),
    row(
        op::CONV_INTEGER,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Weights(1))
            .contracting()
            .needs(Operations::Convolution { bias: None })
            .weighs(CostWeight::Heavy)
            .numbers(&[2])
            .attributes_are(CONVOLUTION)
            .excludes(PADDING),
    ),
    row(
        op::CONV_TRANSPOSE,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Weights(1))
            .contracting()
            .needs(Operations::Formula)
            .weighs(CostWeight::Heavy)
            .attributes_are(CONVOLUTION)
            .excludes(PADDING),
    ),
    // A convolution with offsets does not say that its padding adds elements.
    row(
        op::DEFORM_CONV,
        computed()
            .moves_window(Window::Weights(1))
            .contracting()
            .weighs(CostWeight::Heavy)
            .attributes_are(DEFORM_CONV),
    ),
    row(
        op::GLOBAL_AVERAGE_POOL,
        computed().along(Combines::AllButFirst).needs(Operations::Read { read: 1, made: 1 }),
    ),
    row(
        op::GLOBAL_LP_POOL,
        computed().along(Combines::AllButFirst).needs(Operations::Read { read: 2, made: 1 }),
    ),
    row(
        op::GLOBAL_MAX_POOL,
        computed()
            .ordering_zeros()
            .along(Combines::AllButFirst)
            .needs(Operations::Read { read: 1, made: 0 })
            .undefined_for_some(),
    ),
    row(
        op::GROUP_NORMALIZATION,
        computed()
            .along(Combines::AllButFirst)
            .needs(Operations::Each(7))
            .weighs(CostWeight::Function)
            .attributes_are(&[attribute(attr::NUM_GROUPS).least(1)]),
    )
    .same_since(21),
    row(
        op::INSTANCE_NORMALIZATION,
        computed().along(Combines::AllButFirst).needs(Operations::Each(7)).weighs(CostWeight::Function),
    ),
    // The scale and the bias are aligned at the end.
    row(
        op::LAYER_NORMALIZATION,
        normalized()
            .along(Combines::From(attr::AXIS))
            .needs(Operations::Formula)
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    ),
    row(
        op::LINEAR_ATTENTION,
        computed().attributes_are(&[attribute(attr::UPDATE_RULE).one_of(&[
            "linear",
            "gated",
            "delta",
            "gated_delta",
        ])]),
    ),
    row(
        op::LP_NORMALIZATION,
        normalized()
            .along_axis()
            .needs(Operations::Each(3))
            .attributes_are(&[attribute(attr::P).between(1, 2)]),
    ),
    row(
        op::LP_POOL,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Pooling)
            .needs(Operations::Window { read: 2, made: 1 })
            .attributes_are(POOL)
            .excludes(PADDING),
    ),
    row(
        op::LRN,
        computed()
            .along(Combines::AllButFirst)
            .needs(Operations::Formula)
            .attributes_are(&[attribute(attr::SIZE).least(1)]),
    ),
    // Its indices, if they are wanted, count the elements of all images.
    row(
        op::MAX_POOL,
        computed()
            .ordering_zeros()
            .along(Combines::AllButFirst)
            .moves_window(Window::Pooling)
            .needs(Operations::Window { read: 1, made: 0 })
            .undefined_for_some()
            .attributes_are(MAX_POOL)
            .excludes(PADDING),
    ),
    row(op::MAX_ROI_POOL, computed().ordering_zeros()),
    row(
        op::MAX_UNPOOL,
        computed()
            .moves_window(Window::Pooling)
            .attributes_are(&[attribute(attr::KERNEL_SHAPE).least(1), attribute(attr::STRIDES).least(1)])
            .sized_by(&[2]),
    ),
    row(
        op::MEAN_VARIANCE_NORMALIZATION,
        normalized().along(Combines::Axes(attr::AXES)).needs(Operations::Each(5)),
    ),
    row(op::NEGATIVE_LOG_LIKELIHOOD_LOSS, computed().along(Combines::Loss).attributes_are(LOSS)),
    row(op::NON_MAX_SUPPRESSION, computed().weighs(CostWeight::Heavy).numbers(&[2, 3, 4]).counts(&[0, 1])),
    row(
        op::Q_LINEAR_CONV,
        computed()
            .along(Combines::AllButFirst)
            .moves_window(Window::Weights(3))
            .contracting()
            .needs(Operations::Convolution { bias: Some(8) })
            .weighs(CostWeight::Heavy)
            .numbers(&[1, 2, 6, 7])
            .attributes_are(CONVOLUTION)
            .excludes(PADDING),
    ),
    row(
        op::RMS_NORMALIZATION,
        normalized()
            .along(Combines::From(attr::AXIS))
            .needs(Operations::Each(4))
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    ),
    row(op::ROI_ALIGN, computed().attributes_are(ROI_ALIGN)),
    row(
        op::ROTARY_EMBEDDING,
        computed().needs(Operations::Each(3)).attributes_are(&[
            attribute(attr::INTERLEAVED).between(0, 1),
            // Writers give 0 heads where the input tells them.
            attribute(attr::NUM_HEADS).least(0),
            attribute(attr::ROTARY_EMBEDDING_DIM).least(0),
        ]),
    ),
    row(op::SOFTMAX_CROSS_ENTROPY_LOSS, computed().along(Combines::Loss).attributes_are(LOSS)),
];
