//! Indices that are sums of multiples of their positions, such as `16 * row + column`: which rows a `Gather` takes by them.
//!
//! Exporters flatten a batch and a sequence, and take the elements of each row by such numbers.

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, ElemType};

use super::attributes::Attributes;
use super::constants::Constants;
use super::mixing::{self, Along};

/// Nodes between a `Gather` and the numbers that its indices are computed from.
const MAX_DEPTH: u32 = 32;

/// The elements of a tensor as `offset + Σ steps[axis] * index[axis]`. An axis with one element has the step 0.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Affine {
    offset: i64,
    steps: Vec<i64>,
}

impl Constants<'_> {
    /// What a node does along an axis of its operand at an index.
    pub(super) fn along(
        &self,
        model: &Model,
        after: &Inference,
        node: NodeId,
        index: usize,
        axis: usize,
    ) -> Along {
        match mixing::along(model, after, node, index, axis) {
            Along::Combined if index == 0 && self.takes_own_rows(model, after, node, axis) == Some(true) => {
                Along::Separate
            }
            along => along,
        }
    }

    /// Returns `true` if a node combines the elements of its operand at an index along an axis.
    pub(super) fn mixes(
        &self,
        model: &Model,
        after: &Inference,
        node: NodeId,
        index: usize,
        axis: usize,
    ) -> bool {
        self.along(model, after, node, index, axis) == Along::Combined
    }

    /// Whether a `Gather` along rows takes, for each row of its indices, elements of this row of its operand only.
    fn takes_own_rows(&self, model: &Model, after: &Inference, node: NodeId, axis: usize) -> Option<bool> {
        let record = model.node(node);
        if onnx_schema::normalize_domain(record.domain()) != domain::ONNX || !record.is(op::GATHER) {
            return None;
        }
        let (data, indices) = (record.input(0)?, record.input(1)?);
        let (of_data, of_indices) = (self.spots(after, data), self.spots(after, indices));
        let ([rows], [own]) = (of_data.as_slice(), of_indices.as_slice()) else { return None };
        if rows.axis != axis || rows.outer != 1 || (own.outer, own.inner) != (1, 1) {
            return None;
        }
        let affine = Indices { model, after }.affine(indices, MAX_DEPTH)?;
        let dims = after.shape(indices)?;
        if affine.steps.get(own.axis) != Some(&rows.inner) {
            return Some(false);
        }
        // The position in the row: no sum of the other terms leaves it.
        let (mut least, mut greatest) = (affine.offset, affine.offset);
        for (axis, (&step, dim)) in affine.steps.iter().zip(dims).enumerate() {
            if axis == own.axis || step == 0 {
                continue;
            }
            let last = step.checked_mul(dim.known()?.checked_sub(1)?)?;
            least = least.checked_add(last.min(0))?;
            greatest = greatest.checked_add(last.max(0))?;
        }
        Some(least >= 0 && greatest < rows.inner)
    }
}

/// The computation of indices.
struct Indices<'a> {
    model: &'a Model,
    after: &'a Inference,
}

impl Indices<'_> {
    /// The elements of a value, if they are known to be such a sum. Numbers are below those that 32 bits hold.
    fn affine(&self, value: ValueId, depth: u32) -> Option<Affine> {
        let is_integer =
            |value: ValueId| matches!(self.after.elem(value), Some(ElemType::Int64 | ElemType::Int32));
        if depth == 0 || !is_integer(value) {
            return None;
        }
        let dims = self.after.shape(value)?;
        if let Some(numbers) = mixing::numbers(self.model, self.after, value) {
            return of_numbers(&numbers, dims);
        }
        let node = self.model.value(value).producer()?;
        let record = self.model.node(node);
        if onnx_schema::normalize_domain(record.domain()) != domain::ONNX {
            return None;
        }
        let of = |index: usize| self.affine(record.input(index)?, depth - 1);
        let shape = |index: usize| record.input(index).and_then(|value| self.after.shape(value));
        let number = |index: usize| match mixing::numbers(self.model, self.after, record.input(index)?)?[..] {
            [number] => Some(number),
            _ => None,
        };
        let found = match record.op() {
            op::RANGE => Affine { offset: number(0)?, steps: vec![number(2)?] },
            op::CAST | op::IDENTITY => of(0)?,
            op::UNSQUEEZE | op::SQUEEZE | op::RESHAPE => of(0)?.moved(shape(0)?, dims)?,
            op::EXPAND => of(0)?.broadcast(shape(0)?, dims)?,
            op::TRANSPOSE => of(0)?.permuted(Attributes::of(self.model, node)?.ints(attr::PERM)?)?,
            op::ADD => of(0)?.broadcast(shape(0)?, dims)?.plus(&of(1)?.broadcast(shape(1)?, dims)?, 1)?,
            op::SUB => of(0)?.broadcast(shape(0)?, dims)?.plus(&of(1)?.broadcast(shape(1)?, dims)?, -1)?,
            op::MUL => match (number(0), number(1)) {
                (_, Some(factor)) => of(0)?.times(factor)?.broadcast(shape(0)?, dims)?,
                (Some(factor), _) => of(1)?.times(factor)?.broadcast(shape(1)?, dims)?,
                (None, None) => return None,
            },
            _ => return None,
        };
        let is_small = |&number: &i64| i32::try_from(number).is_ok();
        (is_small(&found.offset) && found.steps.iter().all(is_small)).then_some(found)
    }
}

/// Known elements as such a sum.
fn of_numbers(numbers: &[i64], dims: &[Dim]) -> Option<Affine> {
    let sizes: Vec<usize> =
        dims.iter().map(|dim| usize::try_from(dim.known()?).ok()).collect::<Option<_>>()?;
    let offset = *numbers.first()?;
    let mut strides = vec![1_usize; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        let stride = strides.get(axis)?.checked_mul(*sizes.get(axis)?)?;
        *strides.get_mut(axis.checked_sub(1)?)? = stride;
    }
    let step = |(&size, &stride): (&usize, &usize)| match size {
        0 | 1 => Some(0),
        _ => numbers.get(stride)?.checked_sub(offset),
    };
    let steps: Vec<i64> = sizes.iter().zip(&strides).map(step).collect::<Option<_>>()?;
    let holds = |(place, &number): (usize, &i64)| {
        let mut sum = i128::from(offset);
        for ((&size, &stride), &step) in sizes.iter().zip(&strides).zip(&steps) {
            let index = (place / stride.max(1)) % size.max(1);
            sum += i128::from(step) * index as i128;
        }
        sum == i128::from(number)
    };
    numbers.iter().enumerate().all(holds).then_some(Affine { offset, steps })
}

impl Affine {
    /// The elements in another shape, in which axes with one element are elsewhere.
    fn moved(&self, from: &[Dim], to: &[Dim]) -> Option<Self> {
        let is_more = |dim: &Dim| dim.known() != Some(1);
        let is_same = from.iter().filter(|dim| is_more(dim)).eq(to.iter().filter(|dim| is_more(dim)));
        if !is_same || to.iter().any(|dim| dim.is_unknown()) {
            return None;
        }
        let mut steps = self.steps.iter().zip(from).filter(|(_, dim)| is_more(dim)).map(|(&step, _)| step);
        let steps = to.iter().map(|dim| if is_more(dim) { steps.next() } else { Some(0) });
        Some(Self { offset: self.offset, steps: steps.collect::<Option<_>>()? })
    }

    /// The elements as they are broadcast to a shape.
    fn broadcast(&self, from: &[Dim], to: &[Dim]) -> Option<Self> {
        let new = to.len().checked_sub(from.len())?;
        let kept = from.iter().zip(to.get(new..)?).zip(&self.steps).map(|((from, to), &step)| match from {
            from if from.known() == Some(1) => Some(0),
            from if from == to && !from.is_unknown() => Some(step),
            _ => None,
        });
        let steps = std::iter::repeat_n(Some(0), new).chain(kept);
        Some(Self { offset: self.offset, steps: steps.collect::<Option<_>>()? })
    }

    fn permuted(&self, permutation: &[i64]) -> Option<Self> {
        let step = |&axis: &i64| self.steps.get(usize::try_from(axis).ok()?).copied();
        Some(Self { offset: self.offset, steps: permutation.iter().map(step).collect::<Option<_>>()? })
    }

    /// The sum with a multiple of other elements of the same shape.
    fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let other = other.times(factor)?;
        let steps = self.steps.iter().zip(&other.steps).map(|(&one, &two)| one.checked_add(two));
        Some(Self { offset: self.offset.checked_add(other.offset)?, steps: steps.collect::<Option<_>>()? })
    }

    fn times(&self, factor: i64) -> Option<Self> {
        let steps = self.steps.iter().map(|&step| step.checked_mul(factor));
        Some(Self { offset: self.offset.checked_mul(factor)?, steps: steps.collect::<Option<_>>()? })
    }
}
