//! The axes that a `Slice` takes parts of.

use onnx_ir::{Model, Node, ValueId};
use onnx_schema::attr;
use onnx_shape_infer::Inference;

use super::attributes::{Attributes, from_front};
use super::mixing::numbers;

/// The part of one axis that a `Slice` takes, as far as it is known.
pub(super) struct Part {
    pub(super) axis: usize,
    start: Option<i64>,
    step: Option<i64>,
}

impl Part {
    /// Whether the part starts with the first element and has all that follow, up to its end: it is the whole axis if it has its size.
    pub(super) fn is_from_start(&self) -> bool {
        self.start == Some(0) && self.step == Some(1)
    }
}

/// The parts that a `Slice` takes, in the order of its operands; `None` if the axes are not known.
pub(super) fn parts(
    model: &Model,
    inference: &Inference,
    record: &Node,
    attributes: Attributes<'_>,
) -> Option<Vec<Part>> {
    let rank = inference.shape(record.input(0)?)?.len();
    let (starts, steps, axes) = if attributes.since() < 10 {
        let starts: Vec<Option<i64>> = attributes.ints(attr::STARTS)?.iter().copied().map(Some).collect();
        (starts, None, attributes.ints(attr::AXES).map(<[i64]>::to_vec))
    } else {
        let starts = elements(model, inference, record.input(1)?)?;
        let steps = match record.input(4) {
            Some(steps) => Some(elements(model, inference, steps)?),
            None => None,
        };
        let axes = match record.input(3) {
            Some(axes) => Some(numbers(model, inference, axes)?),
            None => None,
        };
        (starts, steps, axes)
    };
    let part = |(index, start): (usize, Option<i64>)| {
        let axis = match &axes {
            Some(axes) => from_front(*axes.get(index)?, rank)?,
            None => index,
        };
        let step = steps.as_ref().map_or(Some(1), |steps| steps.get(index).copied().flatten());
        Some(Part { axis, start, step })
    };
    starts.into_iter().enumerate().map(part).collect()
}

/// The elements of a vector, as far as they are known; `None` if even their number is not.
fn elements(model: &Model, inference: &Inference, value: ValueId) -> Option<Vec<Option<i64>>> {
    if let Some(content) = inference.content(value) {
        return Some(content.iter().map(|elem| elem.known()).collect());
    }
    if let Some(all) = numbers(model, inference, value) {
        return Some(all.into_iter().map(Some).collect());
    }
    let &[dim] = inference.shape(value)? else { return None };
    let count = usize::try_from(dim.known()?).ok().filter(|&count| count <= MAX_RANK)?;
    Some(vec![None; count])
}

/// Maximum number of elements of a vector that has one for each axis.
const MAX_RANK: usize = 64;
