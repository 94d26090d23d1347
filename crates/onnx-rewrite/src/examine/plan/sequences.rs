//! Operators on sequences, whose positions are scalars.

use onnx_types::tensor::Tensor;

use super::{Given, Planner, axes, axis_of};

/// A position in a sequence, from either end.
pub(super) fn at(planner: &mut Planner<'_>) -> Option<()> {
    if planner.known("position").is_none() && planner.has("position") {
        let position = planner.rng.pick(&[0_i64, 0, 1, -1, -2])?;
        planner.elements("position", Tensor::scalar(position));
    }
    Some(())
}

/// `SplitToSequence` into single elements, equal parts, or parts of certain sizes.
pub(super) fn split(planner: &mut Planner<'_>) -> Option<()> {
    let input = planner.known_or("input", &[1, 2, 2, 3])?;
    let axis = planner.int("axis", 0, &axes(input.len()));
    let size = *input.get(axis_of(axis, input.len())?)?;
    if let Given::Any = planner.given("keepdims") {
        planner.int("keepdims", 1, &[0, 1]);
    }
    if planner.known("split").is_none() && planner.has("split") {
        let split = match planner.rng.below(3) {
            0 => Tensor::scalar(planner.rng.pick(&[1_i64, 2])?),
            1 => Tensor::vector(&[size]),
            _ => Tensor::vector(&[size.min(1), size.saturating_sub(size.min(1))]),
        };
        planner.elements("split", split);
    }
    Some(())
}

/// `ConcatFromSequence` along an axis of the elements, or along a new one.
pub(super) fn concat(planner: &mut Planner<'_>) -> Option<()> {
    planner.required("axis", &[0, 0, 1, -1]);
    planner.int("new_axis", 0, &[0, 1]);
    Some(())
}
