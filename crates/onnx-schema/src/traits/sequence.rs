//! Sequences and optional values.

use super::attribute::{AxisDomain, attribute};
use super::kinds::Operations;
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

pub(super) const ROWS: &[Row] = &[
    row(op::CONCAT_FROM_SEQUENCE, computed().needs(Operations::None)),
    row(op::OPTIONAL, computed().needs(Operations::None)),
    row(op::OPTIONAL_GET_ELEMENT, computed().needs(Operations::None)),
    row(op::OPTIONAL_HAS_ELEMENT, computed().needs(Operations::None)),
    row(op::SEQUENCE_AT, computed().needs(Operations::None).numbers(&[1]).sized_by(&[1])),
    row(op::SEQUENCE_CONSTRUCT, computed().needs(Operations::None)),
    row(
        op::SEQUENCE_EMPTY,
        computed().needs(Operations::None).attributes_are(&[attribute(attr::DTYPE).element_type()]),
    ),
    row(op::SEQUENCE_ERASE, computed().needs(Operations::None).numbers(&[1]).sized_by(&[1])),
    row(op::SEQUENCE_INSERT, computed().needs(Operations::None).numbers(&[2]).sized_by(&[2])),
    row(op::SEQUENCE_LENGTH, computed().needs(Operations::None)),
    row(
        op::SPLIT_TO_SEQUENCE,
        computed()
            .needs(Operations::None)
            .attributes_are(&[attribute(attr::AXIS).axis(AxisDomain::Own)])
            .sized_by(&[1]),
    ),
];
