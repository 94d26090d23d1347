//! The choice of the axis that gets a freed size, if the shapes around a `Reshape` permit several.
//!
//! A size of 1 between two axes can become a factor of either. A choice is *infeasible* if an operator behind it cannot
//! run with other sizes, or would combine the rows of a batch. Exactly one choice must remain, or exactly one that
//! places the size on the first axis of all outputs.

use std::cmp::Ordering;

use onnx_ir::{Model, NodeId, User, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_shape_infer::Inference;

use super::attributes::Attributes;
use super::constants::Constants;
use super::mixing::{self, Along};
use super::reshape::Spot;

/// Maximum number of nodes between a `Reshape` and the node that makes a choice infeasible.
const MAX_DEPTH: u32 = 32;
/// Maximum number of values that are visited for one choice.
const MAX_VISITS: u32 = 2000;

/// Maximum number of transpositions behind which results are compared.
const MAX_TRANSPOSITIONS: u32 = 8;

/// The axis on which a choice places the size in the outputs of the model, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Placement {
    /// The size is on the first axis of all outputs.
    FirstAxis,
    /// It is not known.
    Unknown,
    /// The size is on another axis of an output.
    OtherAxis,
    /// An operator cannot run.
    Infeasible,
}

/// The axes of the results of a node, if an operand has the size on an axis.
pub(super) enum Step {
    Infeasible,
    Unknown,
    /// One of these.
    To(Vec<Spot>),
}

/// The hypothesis that the freed size is on certain axes.
pub(super) struct Choice<'a> {
    pub(super) constants: &'a Constants<'a>,
    pub(super) model: &'a Model,
    pub(super) after: &'a Inference,
    pub(super) visits: u32,
}

impl Choice<'_> {
    /// The axis that gets the size, of those that can have it; `None` if more than one is possible, or none.
    pub(super) fn decide(&mut self, output: ValueId, candidates: &[Spot]) -> Option<Spot> {
        let mut left: Vec<(Spot, Placement)> = Vec::new();
        for &spot in candidates {
            self.visits = 0;
            let placement = self.placement(output, spot, 0);
            if placement != Placement::Infeasible {
                left.push((spot, placement));
            }
        }
        if let [(only, _)] = left.as_slice() {
            return Some(*only);
        }
        if self.agree(output, &left) {
            return left.first().map(|&(spot, _)| spot);
        }
        let mut first = left.iter().filter(|(_, placement)| *placement == Placement::FirstAxis);
        let others = left.iter().filter(|(_, placement)| *placement == Placement::OtherAxis).count();
        match (first.next(), others.checked_add(1) == Some(left.len())) {
            (Some(&(spot, _)), true) => Some(spot),
            _ => None,
        }
    }

    /// Whether all choices lead to the same result: after transpositions, if there are any, the users are `Reshape`s that keep the
    /// position, which is the same.
    fn agree(&self, output: ValueId, left: &[(Spot, Placement)]) -> bool {
        let mut value = output;
        let mut spots: Vec<Spot> = left.iter().map(|&(spot, _)| spot).collect();
        for _ in 0..MAX_TRANSPOSITIONS {
            let uses = self.model.value(value).uses();
            let [usage] = uses else { break };
            let User::Node(node) = usage.user else { return false };
            if !self.model.node(node).is(op::TRANSPOSE) {
                break;
            }
            let moved = |&spot: &Spot| match self.step(node, 0, spot) {
                Some(Step::To(spots)) => spots.first().copied(),
                _ => None,
            };
            let (Some(moved), Some(next)) =
                (spots.iter().map(moved).collect::<Option<Vec<_>>>(), self.model.node(node).output(0))
            else {
                return false;
            };
            (spots, value) = (moved, next);
        }
        let uses = self.model.value(value).uses();
        let Some((first, others)) = spots.split_first() else { return false };
        !uses.is_empty()
            && uses.iter().all(|usage| {
                let User::Node(node) = usage.user else { return false };
                let is_reshape = self.model.node(node).is(op::RESHAPE) && usage.index == 0;
                let found = self.reshaped(node, *first);
                is_reshape && found.is_some() && others.iter().all(|&spot| self.reshaped(node, spot) == found)
            })
    }

    /// Where the size is placed if a value has it on an axis. The depth is limited.
    fn placement(&mut self, value: ValueId, spot: Spot, depth: u32) -> Placement {
        self.visits = self.visits.saturating_add(1);
        if depth > MAX_DEPTH || self.visits > MAX_VISITS {
            return Placement::Unknown;
        }
        let mut worst = Placement::FirstAxis;
        let uses = self.model.value(value).uses();
        if uses.is_empty() {
            return Placement::Unknown;
        }
        for usage in uses {
            let placement = match usage.user {
                User::Graph(graph) if graph != self.model.main_graph() || !self.constants.is_batch => {
                    Placement::Unknown
                }
                User::Graph(_) if spot.axis == 0 && spot.outer == 1 => Placement::FirstAxis,
                User::Graph(_) => Placement::OtherAxis,
                User::Attribute(_) => Placement::Unknown,
                User::Node(node) => self.placement_of_node(node, usage.index as usize, spot, depth),
            };
            if placement == Placement::Infeasible {
                return placement;
            }
            worst = worst.max(placement);
        }
        worst
    }

    fn placement_of_node(&mut self, node: NodeId, index: usize, spot: Spot, depth: u32) -> Placement {
        let Some(output) = self.model.node(node).output(0) else { return Placement::Unknown };
        match self.step(node, index, spot) {
            Some(Step::Infeasible) => Placement::Infeasible,
            Some(Step::To(spots)) => {
                let next = depth.saturating_add(1);
                spots
                    .into_iter()
                    .map(|spot| self.placement(output, spot, next))
                    .min()
                    .unwrap_or(Placement::Infeasible)
            }
            Some(Step::Unknown) | None => Placement::Unknown,
        }
    }

    /// The axes of the first result; `None` if it is not known.
    pub(super) fn step(&self, node: NodeId, index: usize, spot: Spot) -> Option<Step> {
        let (model, before) = (self.model, self.constants.before);
        let record = model.node(node);
        let is_onnx = onnx_schema::normalize_domain(record.domain()) == domain::ONNX;
        if !is_onnx || record.graph() != model.main_graph() {
            return None;
        }
        if self.constants.mixes(model, self.after, node, index, spot.axis) {
            let is_fixed = || record.is(op::MAT_MUL) || record.is(op::GEMM);
            let other = || record.input(1_usize.checked_sub(index)?);
            let meets_weight =
                || is_fixed() && other().is_some_and(|other| !self.constants.dependent.contains_key(other));
            let is_infeasible = self.constants.is_batch || meets_weight();
            return Some(if is_infeasible { Step::Infeasible } else { Step::Unknown });
        }
        let rank = before.shape(record.input(index)?)?.len();
        let out_rank = before.shape(record.output(0)?)?.len();
        match record.op() {
            op::RESHAPE | op::FLATTEN if index == 0 => self.reshaped(node, spot).map(Step::To),
            op::TRANSPOSE => {
                let perm = record.attribute(attr::PERM).and_then(|perm| perm.as_ints()).map(<[i64]>::to_vec);
                let perm = perm.unwrap_or_else(|| (0..rank as i64).rev().collect());
                let axis = perm.iter().position(|&axis| usize::try_from(axis).ok() == Some(spot.axis))?;
                Some(Step::To(vec![Spot { axis, ..spot }]))
            }
            op::SQUEEZE | op::UNSQUEEZE if index == 0 => self.inserted(node, spot, rank.max(out_rank)),
            op::MAT_MUL if rank >= 2 => {
                let rows = rank.checked_sub(2)?;
                if spot.axis < rows {
                    return self.broadcast(node, spot, (rank, out_rank), 2);
                }
                let axis = spot.axis.checked_add(out_rank)?.checked_sub(rank)?;
                Some(Step::To(vec![Spot { axis, ..spot }]))
            }
            op::GATHER if index == 0 => {
                let axis = Attributes::of(model, node)?.axis(attr::AXIS, rank)?;
                let indices = out_rank.checked_add(1)?.checked_sub(rank)?;
                let moved = match spot.axis.cmp(&axis) {
                    Ordering::Less => spot.axis,
                    Ordering::Equal => return None,
                    Ordering::Greater => spot.axis.checked_add(indices)?.checked_sub(1)?,
                };
                Some(Step::To(vec![Spot { axis: moved, ..spot }]))
            }
            op::SLICE if index == 0 => {
                let [data, output] = [record.input(0)?, record.output(0)?].map(|value| before.shape(value));
                let is_whole = data?.get(spot.axis)? == output?.get(spot.axis)?;
                is_whole.then(|| Step::To(vec![spot]))
            }
            op::CONCAT => {
                let axis = Attributes::of(model, node)?.axis(attr::AXIS, rank)?;
                (spot.axis != axis).then(|| Step::To(vec![spot]))
            }
            op::GEMM if index < 2 => Some(Step::To(vec![Spot { axis: index, ..spot }])),
            op::GEMM => self.broadcast(node, spot, (rank, out_rank), 0),
            other if mixing::keeps_indices(other) => self.broadcast(node, spot, (rank, out_rank), 0),
            _ if index == 0 => self.reduced(node, spot, (rank, out_rank)),
            _ => None,
        }
    }

    /// The axis of the result of a reduction that removes the axes along which it combines.
    fn reduced(&self, node: NodeId, spot: Spot, (rank, out_rank): (usize, usize)) -> Option<Step> {
        if Attributes::of(self.model, node)?.int(attr::KEEPDIMS) != Some(0) {
            return None;
        }
        let axes = (0..rank).map(|axis| (axis, mixing::along(self.model, self.after, node, 0, axis)));
        let left: Vec<usize> =
            axes.filter(|(_, along)| *along != Along::Combined).map(|(axis, _)| axis).collect();
        let axis = left.iter().position(|&axis| axis == spot.axis)?;
        (left.len() == out_rank).then(|| Step::To(vec![Spot { axis, ..spot }]))
    }

    /// The axes of the result of a `Reshape` or `Flatten`; `None` if they are not known.
    fn reshaped(&self, node: NodeId, spot: Spot) -> Option<Vec<Spot>> {
        let found = self.constants.candidates(self.model, node, spot)?;
        // A target that the model computes can have another value for other sizes.
        let is_fixed = || {
            self.model.node(node).is(op::FLATTEN)
                || self.constants.numbers(self.model, self.after, node, 1).is_some()
        };
        (!found.is_empty() || is_fixed()).then_some(found)
    }

    /// The axis of an operand whose axes are aligned with those of others at the end, without the last `skipped` ones.
    fn broadcast(
        &self,
        node: NodeId,
        spot: Spot,
        (rank, out_rank): (usize, usize),
        skipped: usize,
    ) -> Option<Step> {
        let axis = spot.axis.checked_add(out_rank)?.checked_sub(rank)?;
        let size = spot.outer.checked_mul(spot.inner)?;
        for other in self.model.node(node).inputs().flatten() {
            let Some(dims) = self.after.shape(other) else { continue };
            let at = |axis: usize| axis.checked_add(dims.len())?.checked_sub(out_rank);
            let is_last = |at: usize| at.checked_add(skipped).is_none_or(|end| end >= dims.len());
            let Some(at) = at(axis).filter(|&at| !is_last(at)) else { continue };
            let Some(&dim) = dims.get(at) else { continue };
            // Sizes of constants that are still to be replaced are the old ones.
            let is_settled = !self.constants.dependent.contains_key(other)
                || !self.constants.axes(self.after, other).is_empty();
            let fits = match self.constants.factor(self.after, dim) {
                Some(factor) => factor == size,
                None => dim.known().is_none_or(|number| number == 1),
            };
            if is_settled && !fits {
                return Some(Step::Infeasible);
            }
        }
        Some(Step::To(vec![Spot { axis, ..spot }]))
    }

    /// The axis after axes of size 1 are removed or inserted.
    fn inserted(&self, node: NodeId, spot: Spot, greater_rank: usize) -> Option<Step> {
        let record = self.model.node(node);
        let axes: Vec<i64> =
            match (record.attribute(attr::AXES).and_then(|axes| axes.as_ints()), record.input(1)) {
                (Some(axes), _) => axes.to_vec(),
                (None, Some(axes)) => {
                    self.after.content(axes)?.iter().map(|axis| axis.known()).collect::<Option<_>>()?
                }
                (None, None) => return None,
            };
        let listed = |axis: usize| {
            let normal =
                |axis: i64| if axis < 0 { axis.checked_add(greater_rank as i64) } else { Some(axis) };
            axes.iter().any(|&other| normal(other) == i64::try_from(axis).ok())
        };
        let mut others = (0..greater_rank).filter(|&axis| !listed(axis));
        let axis = match record.is(op::SQUEEZE) {
            true if listed(spot.axis) => return Some(Step::Infeasible),
            true => others.position(|axis| axis == spot.axis)?,
            false => others.nth(spot.axis)?,
        };
        Some(Step::To(vec![Spot { axis, ..spot }]))
    }
}

/// Candidates as a part of a sentence: `axes 0 and 1`.
pub(super) fn axes_text(candidates: &[Spot]) -> String {
    let axes: Vec<String> = candidates.iter().map(|spot| spot.axis.to_string()).collect();
    match axes.split_last() {
        Some((last, others)) if !others.is_empty() => format!("axes {} and {last}", others.join(", ")),
        _ => format!("axis {}", axes.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_listed() {
        let spot = |axis| Spot { axis, outer: 1, inner: 1 };
        assert_eq!(axes_text(&[spot(0), spot(1)]), "axes 0 and 1");
        assert_eq!(axes_text(&[spot(2)]), "axis 2");
    }
}
