//! Elementwise operators on quantized tensors, whose operands come with scales and zero points, and reductions.

use onnx_schema::attr;
use onnx_schema::onnxruntime::microsoft;
use onnx_types::Dim;

use super::super::like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::ty::Dims;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::MUL_INTEGER, &[since(1, |cx| broadcast(cx, &[0, 2]))]),
    infer(microsoft::Q_LINEAR_ADD, &[since(1, |cx| broadcast(cx, &[0, 3]))]),
    infer(microsoft::Q_LINEAR_CONCAT, &[since(1, concat)]),
    infer(microsoft::Q_LINEAR_LEAKY_RELU, &[since(1, like_first)]),
    infer(microsoft::Q_LINEAR_MUL, &[since(1, |cx| broadcast(cx, &[0, 3]))]),
    infer(microsoft::Q_LINEAR_REDUCE_MEAN, &[since(1, reduce)]),
    infer(microsoft::Q_LINEAR_SIGMOID, &[since(1, like_first)]),
    infer(microsoft::Q_LINEAR_SOFTMAX, &[since(1, like_first)]),
    infer(microsoft::Q_LINEAR_WHERE, &[since(1, |cx| broadcast(cx, &[0, 1, 4]))]),
    infer(microsoft::REDUCE_SUM_INTEGER, &[since(1, reduce)]),
];

/// The shape that these inputs broadcast to.
fn broadcast(cx: &mut Cx<'_, '_>, inputs: &[usize]) -> Outcome {
    let mut dims = Dims::new();
    for &input in inputs {
        let other = cx.shape(input)?;
        dims = cx.broadcast(&dims, &other)?;
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// Each tensor is followed by its scale and its zero point.
fn concat(cx: &mut Cx<'_, '_>) -> Outcome {
    let tensors: Vec<usize> = (2..cx.input_count()).step_by(3).collect();
    let Some((&first, others)) = tensors.split_first() else { return Err(Stop::Unknown) };
    let mut dims = cx.shape(first)?;
    let axis = cx.int(attr::AXIS)?.ok_or(Stop::Unknown)?;
    let axis = cx.axis(axis, dims.len())?;
    let mut parts: Vec<Dim> = dims.get(axis).copied().into_iter().collect();
    for &input in others {
        let other = cx.shape_of_rank(input, dims.len())?;
        for (at, (dim, other)) in dims.iter_mut().zip(other).enumerate() {
            if at == axis {
                parts.push(other);
            } else {
                *dim = cx.same(*dim, other, "the sizes of the other axes of the tensors")?;
            }
        }
    }
    let sum = cx.sum_of_sizes(&parts)?;
    if let Some(slot) = dims.get_mut(axis) {
        *slot = sum;
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// No axes are all axes.
fn reduce(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let axes = cx.ints(attr::AXES)?.unwrap_or_default();
    let mut reduced = cx.axes(axes, dims.len())?;
    if axes.is_empty() {
        reduced.fill(true);
    }
    let keeps = cx.int_or("keepdims", 1)? != 0;
    let left = dims.iter().zip(&reduced).filter_map(|(&dim, &gone)| match (gone, keeps) {
        (false, _) => Some(dim),
        (true, true) => Some(Dim::Known(1)),
        (true, false) => None,
    });
    let left: Dims = left.collect();
    cx.set_dims(0, left);
    Ok(())
}
