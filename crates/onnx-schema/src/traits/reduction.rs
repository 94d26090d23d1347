//! Reductions along axes.

use super::attribute::{AttributeTraits, AxisDomain, attribute};
use super::kinds::{Combines, Operations, Rounding};
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const OWN_AXIS: &[AttributeTraits] = &[attribute(attr::AXIS).from(11).axis(AxisDomain::Own)];

const OWN_AXES: &[AttributeTraits] = &[attribute(attr::AXES).from(11).axis(AxisDomain::Own)];

const OWN_AXES_OR_NONE: &[AttributeTraits] = &[
    attribute(attr::AXES).from(11).axis(AxisDomain::Own),
    // Without axes, all axes are reduced.
    attribute(attr::NOOP_WITH_EMPTY_AXES).neutral(),
];

pub(super) const ROWS: &[Row] = &[
    row(
        op::ARG_MAX,
        computed()
            .jumping()
            .rounds(Rounding::Order)
            .along_axis()
            .positions()
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXIS),
    ),
    row(
        op::ARG_MIN,
        computed()
            .jumping()
            .rounds(Rounding::Order)
            .along_axis()
            .positions()
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXIS),
    ),
    row(
        op::REDUCE_L1,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 2, made: 0 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_L2,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 2, made: 1 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_LOG_SUM,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 1 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_LOG_SUM_EXP,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 2, made: 1 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_MAX,
        computed()
            .rounds(Rounding::Order)
            .ordering_zeros()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXES_OR_NONE)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_MEAN,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 1 })
            .attributes_are(OWN_AXES_OR_NONE)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_MIN,
        computed()
            .rounds(Rounding::Order)
            .ordering_zeros()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXES_OR_NONE)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_PROD,
        computed()
            .rounds(Rounding::Accumulates)
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_SUM,
        computed()
            .rounds(Rounding::Accumulates)
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 1, made: 0 })
            .attributes_are(OWN_AXES_OR_NONE)
            .sized_by(&[1]),
    ),
    row(
        op::REDUCE_SUM_SQUARE,
        computed()
            .along(Combines::Reduced)
            .needs(Operations::Read { read: 2, made: 0 })
            .attributes_are(OWN_AXES)
            .sized_by(&[1]),
    ),
];
