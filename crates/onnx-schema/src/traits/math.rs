//! Arithmetic, functions of elements, conversions and normalizations along axes.

use super::attribute::{AttributeTraits, AxisDomain, attribute};
use super::kinds::{Broadcast, Combines, CostWeight, Operations, Rounding};
use super::row::{Row, Traits, computed, elementwise, elementwise_first, normalized, row};
use crate::generated::names::{attr, op};

/// The greatest or the least of the operands at each place.
const fn extremum() -> Traits {
    elementwise().piecewise().rounds(Rounding::Order).ordering_zeros().needs(Operations::Operands { more: 0 })
}

const TYPE_NAMES: &[&str] = &[
    "BOOL", "DOUBLE", "FLOAT", "FLOAT16", "INT16", "INT32", "INT64", "INT8", "UINT16", "UINT32", "UINT64",
    "UINT8",
];

const CAST: &[AttributeTraits] = &[
    attribute(attr::ROUND_MODE).neutral(),
    attribute(attr::ROUND_MODE).from(24).one_of(&["up", "down", "nearest"]),
    // Affects only conversions to 8-bit floats, which the older versions do not have.
    attribute(attr::SATURATE).neutral(),
    // The first casts name the type. Since version 6 it is a number.
    attribute(attr::TO).one_of(TYPE_NAMES).element_type(),
    attribute(attr::TO).from(6).any_string(),
];

const OWN_AXIS: &[AttributeTraits] = &[attribute(attr::AXIS).from(11).axis(AxisDomain::Own)];

pub(super) const ROWS: &[Row] = &[
    row(op::ABS, elementwise().piecewise().rounds(Rounding::Order)),
    row(op::ACOS, elementwise().weighs(CostWeight::Function)),
    row(op::ACOSH, elementwise().weighs(CostWeight::Function)),
    row(op::ADD, elementwise().rounds(Rounding::Once))
        .same_since(7)
        .then(&[(7, elementwise().rounds(Rounding::Once).broadcasts_all().commuting())]),
    row(op::ASIN, elementwise().weighs(CostWeight::Function)),
    row(op::ASINH, elementwise().weighs(CostWeight::Function)),
    row(op::ATAN, elementwise().weighs(CostWeight::Function)),
    row(op::ATANH, elementwise().weighs(CostWeight::Function)),
    // Both types have the same width, so that an element stays one.
    row(
        op::BIT_CAST,
        elementwise().exact().needs(Operations::None).attributes_are(&[attribute(attr::TO).element_type()]),
    ),
    row(
        op::CAST,
        elementwise_first()
            .jumping()
            .rounds(Rounding::Converts)
            .needs(Operations::None)
            .weighs(CostWeight::Moves)
            .undefined_for_some()
            .attributes_are(CAST),
    )
    .same_since(6),
    row(
        op::CAST_LIKE,
        elementwise_first()
            .jumping()
            .rounds(Rounding::Converts)
            .needs(Operations::None)
            .weighs(CostWeight::Moves)
            .undefined_for_some()
            .attributes_are(&[
                attribute(attr::ROUND_MODE).neutral(),
                attribute(attr::ROUND_MODE).from(24).one_of(&["up", "down", "nearest"]),
                // Affects only conversions to 8-bit floats, which the older versions do not have.
                attribute(attr::SATURATE).neutral(),
            ]),
    ),
    row(op::CEIL, elementwise().jumping().rounds(Rounding::Never)),
    row(op::CELU, elementwise().weighs(CostWeight::Function)),
    row(
        op::CLIP,
        elementwise_first()
            .piecewise()
            .rounds(Rounding::Order)
            .ordering_zeros()
            .undefined_for_some()
            .numbers(&[1, 2]),
    ),
    row(op::COS, elementwise().weighs(CostWeight::Function)),
    row(op::COSH, elementwise().weighs(CostWeight::Function)),
    row(
        op::CUM_PROD,
        normalized().along(Combines::Operand(1)).needs(Operations::Read { read: 1, made: 0 }).numbers(&[1]),
    ),
    row(
        op::CUM_SUM,
        normalized()
            .rounds(Rounding::Accumulates)
            .along(Combines::Operand(1))
            .needs(Operations::Read { read: 1, made: 0 })
            .numbers(&[1]),
    ),
    row(op::DIV, elementwise().piecewise().rounds(Rounding::Once).undefined_for_some())
        .same_since(7)
        .then(&[(7, elementwise().piecewise().rounds(Rounding::Once).broadcasts_all().undefined_for_some())]),
    row(op::ELU, elementwise().weighs(CostWeight::Function)),
    row(op::ERF, elementwise().weighs(CostWeight::Function)),
    row(op::EXP, elementwise().weighs(CostWeight::Function)),
    row(op::FLOOR, elementwise().jumping().rounds(Rounding::Never)),
    row(
        op::GELU,
        elementwise()
            .weighs(CostWeight::Function)
            .attributes_are(&[attribute(attr::APPROXIMATE).one_of(&["none", "tanh"])]),
    ),
    row(
        op::HARDMAX,
        normalized()
            .jumping()
            .rounds(Rounding::Order)
            .along(Combines::From(attr::AXIS))
            .needs(Operations::Each(2))
            .attributes_are(OWN_AXIS),
    )
    .same_since(13)
    .then(&[(
        13,
        normalized()
            .jumping()
            .rounds(Rounding::Order)
            .along_axis()
            .needs(Operations::Each(2))
            .attributes_are(OWN_AXIS),
    )]),
    row(op::HARD_SIGMOID, elementwise()),
    // A few operations of arithmetic, as in `HardSigmoid`.
    row(op::HARD_SWISH, elementwise()),
    row(op::LEAKY_RELU, elementwise()),
    row(op::LOG, elementwise().weighs(CostWeight::Function)),
    row(
        op::LOG_SOFTMAX,
        normalized()
            .along(Combines::From(attr::AXIS))
            .needs(Operations::Each(5))
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    )
    .same_since(13)
    .then(&[(
        13,
        normalized()
            .along_axis()
            .needs(Operations::Each(5))
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    )]),
    // Neither this one nor `Min` commutes: which zero they return for -0.0 and 0.0 may depend on the order.
    row(op::MAX, extremum()).same_since(8).then(&[(8, extremum().broadcasts_all())]),
    row(op::MEAN, elementwise().needs(Operations::Operands { more: 1 }))
        .same_since(8)
        .then(&[(8, elementwise().broadcasts_all().commuting().needs(Operations::Operands { more: 1 }))]),
    row(op::MIN, extremum()).same_since(8).then(&[(8, extremum().broadcasts_all())]),
    row(op::MISH, elementwise().weighs(CostWeight::Function)),
    row(
        op::MOD,
        elementwise().jumping().piecewise().rounds(Rounding::Never).broadcasts_all().undefined_for_some(),
    ),
    row(op::MUL, elementwise().rounds(Rounding::Once))
        .same_since(7)
        .then(&[(7, elementwise().rounds(Rounding::Once).broadcasts_all().commuting())]),
    row(op::NEG, elementwise().rounds(Rounding::Never)),
    row(op::POW, elementwise().weighs(CostWeight::Function).undefined_for_some())
        .same_since(7)
        .then(&[(7, elementwise().broadcasts_all().weighs(CostWeight::Function).undefined_for_some())]),
    // Before version 7, the slope is one number or has one for each channel.
    row(op::P_RELU, computed().needs(Operations::Each(1)))
        .same_since(7)
        .then(&[(7, elementwise().broadcast_as(Broadcast::ToFirst))]),
    row(op::RECIPROCAL, elementwise().rounds(Rounding::Once)),
    row(op::RELU, elementwise().piecewise().rounds(Rounding::Order).ordering_zeros()),
    row(op::ROUND, elementwise().jumping().rounds(Rounding::Never)),
    row(op::SELU, elementwise().weighs(CostWeight::Function)),
    row(op::SHRINK, elementwise().jumping()),
    row(op::SIGMOID, elementwise().weighs(CostWeight::Function)),
    row(op::SIGN, elementwise().jumping().piecewise().rounds(Rounding::Order)),
    row(op::SIN, elementwise().weighs(CostWeight::Function)),
    row(op::SINH, elementwise().weighs(CostWeight::Function)),
    row(
        op::SOFTMAX,
        normalized()
            .along(Combines::From(attr::AXIS))
            .needs(Operations::Each(5))
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    )
    .same_since(13)
    .then(&[(
        13,
        normalized()
            .along_axis()
            .needs(Operations::Each(5))
            .weighs(CostWeight::Function)
            .attributes_are(OWN_AXIS),
    )]),
    row(op::SOFTPLUS, elementwise().weighs(CostWeight::Function)),
    row(op::SOFTSIGN, elementwise()),
    row(op::SQRT, elementwise().rounds(Rounding::Once).weighs(CostWeight::Function)),
    row(op::SUB, elementwise().rounds(Rounding::Once))
        .same_since(7)
        .then(&[(7, elementwise().rounds(Rounding::Once).broadcasts_all())]),
    row(op::SUM, elementwise().rounds(Rounding::Accumulates).needs(Operations::Operands { more: 0 }))
        .same_since(8)
        .then(&[(
            8,
            elementwise()
                .rounds(Rounding::Accumulates)
                .broadcasts_all()
                .commuting()
                .needs(Operations::Operands { more: 0 }),
        )]),
    row(op::SWISH, elementwise().weighs(CostWeight::Function)),
    row(op::SWI_GLU, computed()),
    row(op::TAN, elementwise().weighs(CostWeight::Function)),
    row(op::TANH, elementwise().weighs(CostWeight::Function)),
    row(op::THRESHOLDED_RELU, elementwise().jumping()),
];
