//! Whether a model has every size that was freed, or what fixes it.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, Model, Node, NodeId, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_shape_infer::{Guard, Inference, Relation};
use onnx_types::{Dim, Symbol};
use slotmap::SecondaryMap;

use super::attributes::Attributes;
use super::constants::Constants;
use super::{EditOptions, FixedSize, bind, choice, runs};
use crate::error::ComposeError;

/// Sizes of other variables that conditions are tried with.
const OTHERS: [i64; 5] = [1, 2, 4, 8, 60];

/// A model before and after a size was freed.
pub(super) struct Freed<'a> {
    pub(super) before: &'a Inference,
    pub(super) after: &'a Inference,
    pub(super) constants: &'a Constants<'a>,
    pub(super) dependent: &'a SecondaryMap<ValueId, ()>,
    pub(super) options: &'a EditOptions<'a>,
}

/// The meaning of a condition for a freed size.
#[derive(PartialEq, Eq)]
enum Effect {
    /// It holds for all sizes.
    None,
    /// It holds for some sizes other than the old one.
    Limits,
    /// It holds for the old size and no greater one.
    Fixes,
}

impl Freed<'_> {
    /// Returns the conditions on the freed size.
    ///
    /// # Errors
    ///
    /// Returns an error with everything that fixes the size.
    pub(super) fn check(&self, model: &Model) -> Result<Vec<String>, ComposeError> {
        let mut fixed = bind::contradictions(model, self.before, self.after);
        let mut conditions = Vec::new();
        for fact in self.after.facts().all() {
            let condition = || match fact.node.filter(|_| self.has_unnamed(fact.relation)) {
                Some(node) => {
                    let node = super::node_name(model, node);
                    let variable = super::shown(model.str(self.constants.variable));
                    format!("a size that the model computes fits `{variable}` in {node}")
                }
                // A size that gets another number has that number in place of the variable. A size of 1 broadcasts, but results have
                // the other size then.
                None => Guard::new(model, self.after, *fact)
                    .condition
                    .replace(super::TEMPORARY, "")
                    .replace(" or 1 == 1", ""),
            };
            match (self.effect(fact.relation), fact.node) {
                (Effect::None, _) => {}
                (Effect::Limits, _) => conditions.push(condition()),
                (Effect::Fixes, Some(node)) => {
                    fixed.push(FixedSize::at(model, node, format!("requires {}", condition())));
                }
                (Effect::Fixes, None) => conditions.push(condition()),
            }
        }
        for node in model.nodes_in(model.main_graph()) {
            let at = |reason: String| FixedSize::at(model, node, reason);
            let reason = self.ambiguous(model, node).map(at);
            let reason = reason.or_else(|| self.by_operator(model, node));
            let reason = reason.or_else(|| self.fixed_by(model, node).map(at));
            let reason = reason.or_else(|| self.mixed_by(model, node));
            let reason = reason.or_else(|| {
                match runs::restriction_by_runs(model, self.after, self.constants, node, self.options)? {
                    runs::Restriction::Fixed(reason) => Some(at(reason)),
                    runs::Restriction::NotForOne(reason) => {
                        let variable = super::shown(model.str(self.constants.variable));
                        let node = FixedSize::at(model, node, format!("does not run otherwise: {reason}"));
                        conditions.push(format!("{variable} > 1 ({node})"));
                        None
                    }
                }
            });
            fixed.extend(reason);
        }
        fixed.extend(self.lost(model));
        if fixed.is_empty() {
            conditions.sort();
            conditions.dedup();
            return Ok(conditions);
        }
        let mut seen: HashSet<(Option<NodeId>, String), RandomState> = HashSet::default();
        fixed.retain(|reason| seen.insert((reason.node, reason.reason.clone())));
        Err(ComposeError::FixedSizes(self.with_causes(model, fixed)))
    }

    /// The value of a dimension for a freed size, with all other variables at one size.
    fn size(&self, dim: Dim, freed: i64, other: i64) -> Option<i64> {
        let of = |symbol: Symbol| Some(if symbol == self.constants.variable { freed } else { other });
        self.after.exprs().eval(dim, &of)
    }

    /// The variables of a relation.
    fn symbols(&self, relation: Relation) -> Vec<Symbol> {
        match relation {
            Relation::Equal(a, b)
            | Relation::AtMost(a, b)
            | Relation::Divides(a, b)
            | Relation::Broadcasts(a, b) => {
                [a, b].into_iter().flat_map(|dim| self.after.exprs().symbols(dim)).collect()
            }
            Relation::Declared(_) | Relation::Default(_) => Vec::new(),
        }
    }

    /// Whether a relation has a variable without a name.
    fn has_unnamed(&self, relation: Relation) -> bool {
        self.symbols(relation).into_iter().any(|symbol| symbol.number().is_some())
    }

    fn effect(&self, relation: Relation) -> Effect {
        if !self.symbols(relation).contains(&self.constants.variable) {
            return Effect::None;
        }
        let old = self.constants.old;
        let mut effect = Effect::None;
        for other in OTHERS {
            let fails = |freed: i64| relation.fails(|dim| self.size(dim, freed, other));
            // A condition that does not hold for the old size implies nothing about other sizes.
            if fails(old) {
                continue;
            }
            let (next, twice) = (old.saturating_add(1), old.saturating_mul(2).saturating_add(7));
            let failing =
                [1, 2, 3, 5, next, twice].iter().filter(|&&size| size != old && fails(size)).count();
            let fixes = match relation {
                Relation::AtMost(..) => fails(next),
                _ => {
                    fails(next)
                        && fails(twice)
                        && (old..=old.saturating_add(60)).filter(|&size| !fails(size)).count() < 2
                }
            };
            if fixes {
                return Effect::Fixes;
            }
            if failing > 0 {
                effect = Effect::Limits;
            }
        }
        effect
    }

    /// Why the operator of a node, or that it takes constant indices, allows the old size only.
    fn by_operator(&self, model: &Model, node: NodeId) -> Option<FixedSize> {
        let record = model.node(node);
        let is_dependent = |value: ValueId| self.dependent.contains_key(value);
        if !record.inputs().flatten().any(is_dependent) {
            return None;
        }
        let of_operator =
            |reason: String| FixedSize { is_of_operator: true, ..FixedSize::at(model, node, reason) };
        let is_unknown = record.outputs().iter().flatten().any(|&output| self.after.ty(output).is_unknown());
        let callee = model.callee(node, self.options.registry);
        if is_unknown
            && matches!(
                callee,
                Callee::Undefined | Callee::Unknown { .. } | Callee::NotImported | Callee::Custom(_)
            )
        {
            let reason =
                "is an operator that inference does not know, so its output may depend on the old size";
            return Some(of_operator(reason.to_owned()));
        }
        let data = record.input(0)?;
        if onnx_schema::normalize_domain(record.domain()) == domain::ONNX
            && record.is(op::GATHER)
            && self.constants.old == 1
        {
            let rank = self.after.shape(data)?.len();
            let axis = Attributes::of(model, node)?.axis(attr::AXIS, rank)?;
            let indices = record.input(1)?;
            let content = self.after.content(indices);
            if self.is_multiple_on(data, axis)
                && content.is_some_and(|all| all.iter().all(|index| index.known().is_some()))
            {
                let reason = format!("takes a constant index of axis {axis}, which has the freed size");
                return Some(FixedSize { value: Some(indices), ..of_operator(reason) });
            }
        }
        (removes_all_ones(record) && self.after.shape(data)?.iter().any(|&dim| self.has_variable(dim)))
            .then(|| of_operator("removes all axes of size 1, and the freed size can be 1".to_owned()))
    }

    /// Whether an axis has a known multiple of the freed size.
    fn is_multiple_on(&self, value: ValueId, axis: usize) -> bool {
        let dim = self.after.shape(value).and_then(|dims| dims.get(axis)).copied();
        dim.is_some_and(|dim| self.constants.factor(self.after, dim).is_some())
    }

    /// Why a node works for the old size only, although nothing contradicts other ones.
    fn fixed_by(&self, model: &Model, node: NodeId) -> Option<String> {
        let record = model.node(node);
        if !record.inputs().flatten().any(|value| self.dependent.contains_key(value)) {
            return None;
        }
        let saturated = record.outputs().iter().flatten().find_map(|&output| self.saturated(output))?;
        let is_new = !record.inputs().flatten().any(|input| self.saturated(input).is_some());
        is_new.then(|| {
            format!(
                "has the old size in a constant: axis {saturated} of its output does not grow with the size"
            )
        })
    }

    /// Whether a dimension depends on the freed size.
    pub(super) fn has_variable(&self, dim: Dim) -> bool {
        self.after.exprs().symbols(dim).contains(&self.constants.variable)
    }

    /// The axis of a value that has the rows and other sizes, unless the rows are one after the other on the first axis.
    fn merged(&self, value: ValueId) -> Option<(usize, String)> {
        let spots = self.constants.spots(self.after, value);
        let is_first = |axis: usize| axis == 0 && spots.iter().all(|spot| spot.axis != 0 || spot.outer == 1);
        let dims = self.after.shape(value)?.iter().enumerate();
        let mut found = dims.filter(|&(axis, &dim)| self.is_multiple(dim) && !is_first(axis));
        found.find_map(|(axis, &dim)| match self.constants.factor(self.after, dim) {
            Some(1) => None,
            Some(factor) => Some((axis, factor.to_string())),
            None => Some((axis, "other sizes".to_owned())),
        })
    }

    /// Whether a dimension is a multiple of the freed size, also by a product of other variables.
    fn is_multiple(&self, dim: Dim) -> bool {
        let grows = |other: i64| {
            let one = self.size(dim, 1, other).filter(|&one| one > 0);
            one.is_some_and(|one| {
                [2, 3, 7].iter().all(|&freed| self.size(dim, freed, other) == one.checked_mul(freed))
            })
        };
        self.has_variable(dim) && OTHERS.iter().all(|&other| grows(other))
    }

    /// Whether a dimension has a variable, but not the freed one.
    fn is_open(&self, dim: Dim) -> bool {
        dim.known().is_none() && !self.has_variable(dim)
    }

    /// The axis of a value that depends on the freed size and does not grow with it beyond the old one.
    fn saturated(&self, value: ValueId) -> Option<usize> {
        let old = self.constants.old;
        self.after.shape(value)?.iter().position(|&dim| {
            if !self.has_variable(dim) {
                return false;
            }
            let size = |freed: i64| self.size(dim, freed, 4);
            let (at, next, far) =
                (size(old), size(old.saturating_add(64)), size(old.saturating_mul(3).saturating_add(640)));
            at.is_some_and(|at| [next, far].iter().all(|size| size.is_some_and(|size| size <= at)))
        })
    }

    /// Why the freed size can be on several axes behind a `Reshape`.
    fn ambiguous(&self, model: &Model, node: NodeId) -> Option<String> {
        let is_reshape = model.node(node).is(op::RESHAPE);
        let candidates = self.constants.ambiguous(model, self.after, node).filter(|_| is_reshape)?;
        Some(format!(
            "has a constant target that does not determine which axis gets the freed size: {} can have it; compute the target \
             from `Shape`, or give the size an axis of its own in the target",
            choice::axes_text(&candidates)
        ))
    }

    /// Why a node combines the rows of a batch.
    fn mixed_by(&self, model: &Model, node: NodeId) -> Option<FixedSize> {
        if !self.constants.is_batch {
            return None;
        }
        let record = model.node(node);
        let at = |reason: &str| FixedSize::at(model, node, reason);
        if record.is(op::RESHAPE) && self.constants.keeps_position(model, self.after, node) == Some(false) {
            return Some(at("does not keep the freed size behind the same elements"));
        }
        let is_constant = |value: ValueId| {
            self.after.content(value).is_some_and(|all| all.iter().all(|elem| elem.known().is_some()))
        };
        let is_located = || self.constants.keeps_position(model, self.after, node).is_some();
        if record.is(op::RESHAPE) && record.input(1).is_some_and(is_constant) && !is_located() {
            return Some(at("has a constant target, in which the freed size cannot be located"));
        }
        let inputs = (0..record.inputs().len()).filter_map(|index| Some((index, record.input(index)?)));
        let dependent = inputs.filter(|(_, value)| self.dependent.contains_key(*value));
        let mut mixed = dependent.flat_map(|(index, value)| {
            self.constants.axes(self.after, value).into_iter().map(move |axis| (index, axis))
        });
        let mixed = mixed.find(|&(index, axis)| self.constants.mixes(model, self.after, node, index, axis));
        mixed.map(|(_, axis)| FixedSize {
            is_of_operator: true,
            ..at(&format!("combines the elements along axis {axis}, which has the freed size"))
        })
    }

    /// The outputs that depend on a batch and do not have its size: any output if the old size is 1, as its axes do not show the
    /// size, and otherwise those that had the old size.
    fn lost(&self, model: &Model) -> Vec<FixedSize> {
        if !self.constants.is_first_axis {
            return Vec::new();
        }
        let old = Dim::Known(self.constants.old);
        let has_old = |value: &ValueId| {
            self.constants.is_batch || self.before.shape(*value).is_some_and(|dims| dims.contains(&old))
        };
        let outputs = model.graph(model.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value);
        let has_lost = |value: &ValueId| {
            let has_size = |dims: &[Dim]| dims.iter().any(|&dim| self.is_multiple(dim) || self.is_open(dim));
            self.dependent.contains_key(*value)
                && has_old(value)
                && self.after.shape(*value).is_some_and(|dims| !has_size(dims))
        };
        let lost = outputs.clone().filter(has_lost);
        let lost =
            lost.map(|value| FixedSize::of_value(model, value, "does not have the freed size on any axis"));
        let merged = outputs.filter(|_| self.constants.is_batch).filter_map(|value| {
            let (axis, factor) = self.merged(value)?;
            let reason = format!(
                "has the freed size on axis {axis}, multiplied by {factor}: rows are neither one after the other on the first axis nor \
                 on a separate one"
            );
            Some(FixedSize::of_value(model, value, reason))
        });
        lost.chain(merged).collect()
    }
}

/// Whether a node is a `Squeeze` that names no axes.
fn removes_all_ones(record: &Node) -> bool {
    let names_axes = record.input(1).is_some() || record.attribute(attr::AXES).is_some();
    record.is(op::SQUEEZE) && !names_axes
}
