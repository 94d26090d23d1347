//! The axes of values that have a freed size, and its position among the factors of each.

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, Symbol};

use super::choice::{Choice, Step};
use super::constants::Constants;
use super::reshape::Spot;

impl Constants<'_> {
    /// The axes of a value with the freed size, as far as its position among their factors is known.
    pub(super) fn spots(&self, inference: &Inference, value: ValueId) -> Vec<Spot> {
        let dims = inference.shape(value).unwrap_or_default();
        let axes =
            dims.iter().enumerate().filter_map(|(axis, &dim)| Some((axis, self.factor(inference, dim)?)));
        let orders = self.orders.get(value);
        axes.filter_map(|(axis, factor)| {
            if factor == 1 {
                return Some(Spot { axis, outer: 1, inner: 1 });
            }
            let known = orders.into_iter().flatten().find(|spot| spot.axis == axis);
            known.copied().filter(|spot| spot.outer.checked_mul(spot.inner) == Some(factor))
        })
        .collect()
    }

    /// The number that a dimension is the multiple of the freed size by.
    pub(super) fn factor(&self, inference: &Inference, dim: Dim) -> Option<i64> {
        let size = |number: i64| {
            let of = |symbol: Symbol| (symbol == self.variable).then_some(number);
            inference.exprs().eval(dim, &of)
        };
        if dim.known().is_some() {
            return None;
        }
        // Large sizes as well: the size can be the least of the freed one and a number, or a remainder. What 64 bits do not hold
        // has no value on both sides.
        const SIZES: [i64; 6] = [2, 3, 7, 1009, 2_147_483_647, 1 << 53];
        let factor = size(1).filter(|&factor| factor > 0)?;
        let is_multiple = SIZES.iter().all(|&number| size(number) == factor.checked_mul(number));
        is_multiple.then_some(factor)
    }

    /// Notes where the freed size is among the factors of the axes of results.
    pub(super) fn note_orders(&mut self, model: &Model, after: &Inference, node: NodeId) {
        let outputs = || model.node(node).outputs().iter().flatten().copied();
        let found: Vec<(ValueId, Vec<Spot>)> =
            outputs().map(|output| (output, self.orders_of(model, after, node, output))).collect();
        for (output, spots) in found.into_iter().filter(|(_, spots)| !spots.is_empty()) {
            self.orders.insert(output, spots);
        }
    }

    /// The position of the freed size among the factors of the axes of a result, where that is not obvious.
    fn orders_of(&self, model: &Model, after: &Inference, node: NodeId, output: ValueId) -> Vec<Spot> {
        let record = model.node(node);
        let dims = after.shape(output).unwrap_or_default();
        let factors: Vec<Option<i64>> = dims.iter().map(|&dim| self.factor(after, dim)).collect();
        if !factors.iter().flatten().any(|&factor| factor > 1) {
            return Vec::new();
        }
        let data = record.input(0);
        let spots: Vec<Spot> = if record.is(op::RESHAPE) || record.is(op::FLATTEN) {
            data.map(|data| self.reshaped(model, after, node, data).1).unwrap_or_default()
        } else if record.is(op::TRANSPOSE) {
            let perm = record.attribute(attr::PERM).and_then(|perm| perm.as_ints()).map(<[i64]>::to_vec);
            let perm = perm.unwrap_or_else(|| (0..dims.len() as i64).rev().collect());
            let moved = |spot: Spot| {
                let axis = perm.iter().position(|&axis| usize::try_from(axis).ok() == Some(spot.axis))?;
                Some(Spot { axis, ..spot })
            };
            data.map(|data| self.spots(after, data))
                .unwrap_or_default()
                .into_iter()
                .filter_map(moved)
                .collect()
        } else if record.nested_graphs().next().is_some() {
            // What the graphs do with the elements is not followed.
            Vec::new()
        } else {
            let inputs = record.inputs().enumerate();
            let inputs = inputs.filter_map(|(index, input)| Some((index, input?)));
            inputs
                .flat_map(|(index, input)| self.carried(model, after, (node, index), (input, output)))
                .collect()
        };
        let fits = |spot: &Spot| {
            spot.outer.checked_mul(spot.inner).is_some_and(|all| factors.get(spot.axis) == Some(&Some(all)))
        };
        let spots: Vec<Spot> = spots.into_iter().filter(fits).collect();
        // Operands with different results imply nothing.
        let is_certain = |spot: &Spot| spots.iter().all(|other| other.axis != spot.axis || other == spot);
        spots.iter().filter(|spot| is_certain(spot)).copied().collect()
    }

    /// The axes of a result that have the freed size of those of an operand: the same ones if the ranks are equal, and those that
    /// operators move them to if they are not.
    fn carried(
        &self,
        model: &Model,
        after: &Inference,
        (node, index): (NodeId, usize),
        (input, output): (ValueId, ValueId),
    ) -> Vec<Spot> {
        let spots = self.spots(after, input);
        let rank = |value: ValueId| after.shape(value).map(<[Dim]>::len);
        if rank(input) == rank(output) {
            return spots;
        }
        let choice = Choice { constants: self, model, after, visits: 0 };
        let moved = |spot: Spot| match choice.step(node, index, spot) {
            Some(Step::To(found)) => found,
            _ => Vec::new(),
        };
        spots.into_iter().flat_map(moved).collect()
    }

    /// Whether a `Reshape` moves a freed size to another position among the elements. `None` if the shapes do not show it.
    pub(super) fn keeps_position(&self, model: &Model, after: &Inference, node: NodeId) -> Option<bool> {
        let record = model.node(node);
        let (data, output) = (record.input(0)?, record.output(0)?);
        let (from, to, _) = self.reshaped(model, after, node, data);
        let axes = self.axes(after, data);
        let freed = self.axes(after, output);
        if axes.is_empty() {
            return Some(true);
        }
        if let ([axis], [other]) = (&axes[..], &freed[..])
            && axis == other
            && is_kept(after.shape(data)?, after.shape(output)?, *axis)
        {
            return Some(true);
        }
        if from.len() != axes.len() {
            return self.stays_first(after, data, output).then_some(true);
        }
        Some(to.len() == freed.len() && to.iter().all(|&spot| self.has(after, output, spot)))
    }

    /// Whether only the first axis of both shapes that is not 1 has the freed size, and that of the data with one row after the
    /// other: the axes behind it can be unknown.
    fn stays_first(&self, after: &Inference, data: ValueId, output: ValueId) -> bool {
        let is_first = |value: ValueId| {
            let has_variable = |dim: &Dim| after.exprs().symbols(*dim).contains(&self.variable);
            let mut rest = after.shape(value).into_iter().flatten().skip_while(|dim| dim.known() == Some(1));
            rest.next().is_some_and(has_variable) && !rest.any(has_variable)
        };
        let is_in_order = || self.spots(after, data).iter().any(|spot| spot.outer == 1);
        is_first(data) && is_first(output) && is_in_order()
    }

    /// The axes of a value that the freed size is a factor of.
    pub(super) fn axes(&self, inference: &Inference, value: ValueId) -> Vec<usize> {
        let dims = inference.shape(value).unwrap_or_default();
        let is_freed = |(axis, &dim): (usize, &Dim)| self.factor(inference, dim).map(|_| axis);
        dims.iter().enumerate().filter_map(is_freed).collect()
    }

    /// Whether a value has a multiple of the freed size on an axis.
    pub(super) fn has(&self, after: &Inference, value: ValueId, spot: Spot) -> bool {
        let dim = after.shape(value).and_then(|dims| dims.get(spot.axis)).copied();
        let factor = dim.and_then(|dim| self.factor(after, dim));
        factor.is_some() && factor == spot.outer.checked_mul(spot.inner)
    }
}

/// Whether shapes are equal up to an axis, so that a `Reshape` keeps the elements at each index of it.
fn is_kept(data: &[Dim], output: &[Dim], axis: usize) -> bool {
    let same = data.iter().zip(output).take_while(|(from, to)| from == to && !from.is_unknown()).count();
    same > axis
}
