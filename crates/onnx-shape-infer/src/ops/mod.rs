//! The operators: for each one home, a file with its rows and functions; operators that are plain members of a family are
//! rows in the family's file.

mod control;
mod generator;
mod linear;
mod logical;
mod math;
mod ml;
mod nn;
mod quant;
mod reduction;
mod rnn;
mod sequence;
mod signal;
mod tensor;
mod training;

use crate::registry::OpRules;

/// The rules of all operators, by group.
pub(crate) const GROUPS: &[&[OpRules]] = &[
    math::binary::RULES,
    math::unary::RULES,
    control::RULES,
    generator::RULES,
    linear::RULES,
    logical::RULES,
    ml::RULES,
    nn::RULES,
    quant::RULES,
    reduction::RULES,
    rnn::RULES,
    sequence::RULES,
    signal::RULES,
    tensor::RULES,
    training::RULES,
];
