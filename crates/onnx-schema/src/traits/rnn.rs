//! Recurrent layers.

use super::attribute::{AttributeTraits, attribute};
use super::kinds::{CostWeight, Operations};
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const ACTIVATIONS: &[&str] = &[
    "Affine",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "Relu",
    "ScaledTanh",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
];
const DIRECTIONS: &[&str] = &["forward", "reverse", "bidirectional"];

const GRU: &[AttributeTraits] = &[
    attribute(attr::ACTIVATIONS).one_of(ACTIVATIONS),
    // The default of the first version is misspelled.
    attribute(attr::DIRECTION).one_of(&["forward", "reverse", "bidirectional", "foward"]),
    attribute(attr::DIRECTION).from(3).one_of(DIRECTIONS),
    attribute(attr::HIDDEN_SIZE).least(1),
    attribute(attr::LAYOUT).between(0, 1),
];

const RECURRENT: &[AttributeTraits] = &[
    attribute(attr::ACTIVATIONS).one_of(ACTIVATIONS),
    attribute(attr::DIRECTION).one_of(DIRECTIONS),
    attribute(attr::HIDDEN_SIZE).least(1),
    attribute(attr::LAYOUT).between(0, 1),
];

pub(super) const ROWS: &[Row] = &[
    row(
        op::GRU,
        computed()
            .contracting()
            .needs(Operations::Recurrent { gates: 3, unit: 8 })
            .weighs(CostWeight::Heavy)
            .attributes_are(GRU),
    ),
    row(
        op::LSTM,
        computed()
            .contracting()
            .needs(Operations::Recurrent { gates: 4, unit: 9 })
            .weighs(CostWeight::Heavy)
            .attributes_are(RECURRENT),
    ),
    row(
        op::RNN,
        computed()
            .contracting()
            .needs(Operations::Recurrent { gates: 1, unit: 1 })
            .weighs(CostWeight::Heavy)
            .attributes_are(RECURRENT),
    ),
];
