//! The operators: each has one file with its rows and functions; operators that only instantiate a family are rows in
//! the family's file.

mod control;
mod generator;
pub(crate) mod linear;
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
    math::RULES,
    math::binary::RULES,
    math::cast::RULES,
    math::cumulative::RULES,
    math::softmax::RULES,
    math::unary::RULES,
    math::variadic::RULES,
    control::RULES,
    generator::RULES,
    generator::random::RULES,
    generator::window::RULES,
    linear::RULES,
    linear::matmul::RULES,
    logical::RULES,
    logical::bits::RULES,
    logical::compare::RULES,
    ml::RULES,
    nn::RULES,
    quant::RULES,
    reduction::arg::RULES,
    reduction::reduce::RULES,
    rnn::RULES,
    sequence::RULES,
    signal::RULES,
    tensor::RULES,
    training::RULES,
];
