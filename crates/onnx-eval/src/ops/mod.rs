//! The operators: each is implemented in one file, at the same path as in `onnx-shape-infer`, with its rows and its
//! kernel; members of a family without specific behavior are rows in the family's file.

mod control;
mod generator;
pub(crate) mod linear;
mod logical;
pub(crate) mod math;
mod ml;
pub(crate) mod nn;
pub(crate) mod quant;
mod reduction;
mod rnn;
mod sequence;
mod signal;
pub(crate) mod tensor;
mod training;

use crate::registry::OpKernels;

/// The kernels of all operators, by group.
pub(crate) const GROUPS: &[&[OpKernels]] = &[
    control::KERNELS,
    generator::KERNELS,
    generator::random::KERNELS,
    generator::window::KERNELS,
    linear::KERNELS,
    linear::matmul::KERNELS,
    logical::KERNELS,
    logical::bits::KERNELS,
    logical::compare::KERNELS,
    math::KERNELS,
    math::binary::KERNELS,
    math::cast::KERNELS,
    math::cumulative::KERNELS,
    math::softmax::KERNELS,
    math::unary::KERNELS,
    math::variadic::KERNELS,
    ml::KERNELS,
    nn::KERNELS,
    quant::KERNELS,
    reduction::arg::KERNELS,
    reduction::reduce::KERNELS,
    rnn::KERNELS,
    sequence::KERNELS,
    signal::KERNELS,
    tensor::KERNELS,
    training::KERNELS,
];
