//! Logic, comparison and bits: nothing is rounded.

use super::attribute::attribute;
use super::kinds::CostWeight;
use super::row::{Row, elementwise, row};
use crate::generated::names::{attr, op};

pub(super) const ROWS: &[Row] = &[
    row(op::AND, elementwise().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().piecewise().exact().broadcasts_all().commuting())]),
    row(op::BITWISE_AND, elementwise().piecewise().exact().broadcasts_all().commuting()),
    row(op::BITWISE_NOT, elementwise().exact()),
    row(op::BITWISE_OR, elementwise().exact().broadcasts_all().commuting()),
    row(op::BITWISE_XOR, elementwise().exact().broadcasts_all().commuting()),
    row(
        op::BIT_SHIFT,
        elementwise()
            .broadcasts_all()
            .undefined_for_some()
            .attributes_are(&[attribute(attr::DIRECTION).one_of(&["LEFT", "RIGHT"])]),
    ),
    row(op::EQUAL, elementwise().jumping().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().jumping().piecewise().exact().broadcasts_all().commuting())]),
    row(op::GREATER, elementwise().jumping().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().jumping().piecewise().exact().broadcasts_all())]),
    row(op::GREATER_OR_EQUAL, elementwise().jumping().piecewise().exact().broadcasts_all()),
    row(op::IS_INF, elementwise().exact()),
    row(op::IS_NAN, elementwise().exact()),
    row(op::LESS, elementwise().jumping().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().jumping().piecewise().exact().broadcasts_all())]),
    row(op::LESS_OR_EQUAL, elementwise().jumping().piecewise().exact().broadcasts_all()),
    row(op::NOT, elementwise().piecewise().exact()),
    row(op::OR, elementwise().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().piecewise().exact().broadcasts_all().commuting())]),
    row(op::WHERE, elementwise().piecewise().exact().broadcasts_all().weighs(CostWeight::Moves)),
    row(op::XOR, elementwise().piecewise().exact())
        .same_since(7)
        .then(&[(7, elementwise().piecewise().exact().broadcasts_all().commuting())]),
];
