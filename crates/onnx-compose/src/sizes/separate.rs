//! Nodes that are not known to keep the rows of a freed size apart.
//!
//! A run shows the rows of some inputs only. If every node keeps the elements at different indices of a freed axis apart, this
//! holds for all inputs and sizes; the nodes for which it is not known are reported.
//!
//! Every value has a [`Class`], from the inputs to the outputs, through nested graphs as well. A node that no rule covers makes its
//! results [`Class::Unproved`] and is reported, so that an operator, an operand or a flow without a rule is never silent.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, User, ValueId};
use onnx_schema::op;
use onnx_shape_infer::Elem;
use onnx_types::{Dim, Symbol};
use slotmap::SecondaryMap;

use super::FixedSize;
use super::attributes::Attributes;
use super::mixing::{self, Along};
use super::verdict::Freed;
use super::{nested, shape_operands};

/// The dependence of the elements of a value on a freed size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// They are equal for all sizes and rows, and so is the shape.
    Fixed,
    /// They depend on the freed size as a number, and not on rows.
    OfSize,
    /// One axis has the freed size, and the elements at an index of it depend on the row of this index only.
    Rows,
    /// This is not known. The node that the value comes from is reported.
    Unproved,
}

/// The classes of values, and the reason if they are not proved.
#[derive(Default)]
pub(super) struct Step {
    pub(super) classes: Vec<(ValueId, Class)>,
    pub(super) reason: Option<String>,
}

impl Step {
    /// The same class for all values.
    pub(super) fn all(values: impl IntoIterator<Item = ValueId>, class: Class) -> Self {
        Self { classes: values.into_iter().map(|value| (value, class)).collect(), reason: None }
    }

    /// Values that are not proved, for a reason.
    pub(super) fn unproved(values: impl IntoIterator<Item = ValueId>, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::all(values, Class::Unproved) }
    }
}

/// The reason if rows meet the freed size as a number.
pub(super) const COMPUTES: &str = "computes with the freed size as a number";

/// What is not known to keep rows apart.
#[derive(Default)]
pub(super) struct NotProved {
    /// Nodes and outputs, each with a reason.
    pub(super) reasons: Vec<String>,
    /// The outputs that may depend on the freed size.
    pub(super) outputs: Vec<ValueId>,
}

/// The nodes and outputs that are not known to keep rows apart.
pub(super) fn unproved(model: &Model, freed: &Freed<'_>) -> NotProved {
    let mut rows = RowAnalysis::new(model, freed);
    rows.run();
    let reasons = model.nodes_in(model.main_graph()).filter_map(|node| {
        let reason = rows.reasons.get(node)?;
        Some(FixedSize::at(model, node, reason.clone()).to_string())
    });
    let outputs = model.graph(model.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value);
    let of_outputs = outputs.clone().filter_map(|value| {
        let reason = rows.reason_of_output(value)?;
        Some(FixedSize::of_value(model, value, reason).to_string())
    });
    NotProved {
        reasons: reasons.chain(of_outputs).collect(),
        outputs: outputs.filter(|&value| rows.class(value) != Class::Fixed).collect(),
    }
}

/// A visit of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Visit {
    /// The operands of its nested graphs.
    Enter(NodeId),
    /// Its results.
    Leave(NodeId),
}

pub(super) struct RowAnalysis<'a> {
    pub(super) model: &'a Model,
    pub(super) freed: &'a Freed<'a>,
    /// The classes of values that are not fixed.
    classes: SecondaryMap<ValueId, Class>,
    /// Variables that are known not to depend on the freed size.
    independent: HashSet<Symbol, RandomState>,
    /// Values whose classes do not change any more: those of the main graph, as far as no node with nested graphs is before them.
    settled: SecondaryMap<ValueId, ()>,
    reasons: SecondaryMap<NodeId, String>,
}

impl<'a> RowAnalysis<'a> {
    fn new(model: &'a Model, freed: &'a Freed<'a>) -> Self {
        let mut independent = HashSet::<Symbol, RandomState>::default();
        let mut classes = SecondaryMap::new();
        for &input in model.graph(model.main_graph()).inputs() {
            let dims = freed.after.shape(input).unwrap_or_default();
            independent.extend(dims.iter().flat_map(|&dim| freed.after.exprs().symbols(dim)));
            if !freed.constants.axes(freed.after, input).is_empty() {
                classes.insert(input, Class::Rows);
            }
        }
        independent.remove(&freed.constants.variable);
        let (settled, reasons) = (SecondaryMap::new(), SecondaryMap::new());
        Self { model, freed, classes, independent, settled, reasons }
    }

    /// Visits nodes until the classes do not change any more.
    fn run(&mut self) {
        let mut open = self.visits();
        let mut is_open: HashSet<Visit, RandomState> = open.iter().copied().collect();
        while let Some(visit) = open.pop_front() {
            is_open.remove(&visit);
            let (node, step) = match visit {
                Visit::Enter(node) => (node, nested::enter(self, node)),
                Visit::Leave(node) => (node, self.leave(node)),
            };
            if visit == Visit::Leave(node) {
                self.settle(node, &step);
            }
            let mut reason = step.reason;
            for (value, class) in step.classes {
                let (class, is_joined) = join(self.class(value), class);
                if !is_joined {
                    reason.get_or_insert_with(|| COMPUTES.to_owned());
                }
                if class == self.class(value) {
                    continue;
                }
                self.classes.insert(value, class);
                let next = self.affected(value).into_iter().filter(|&next| is_open.insert(next));
                open.extend(next);
            }
            if let Some(reason) = reason
                && !self.reasons.contains_key(node)
            {
                self.reasons.insert(node, reason);
            }
        }
    }

    /// A visit of each node, in which nodes of nested graphs are before the end of the node around them.
    fn visits(&self) -> VecDeque<Visit> {
        let (mut visits, mut around): (VecDeque<Visit>, Vec<NodeId>) = (VecDeque::new(), Vec::new());
        for node in self.model.nodes_in(self.model.main_graph()) {
            let record = self.model.node(node);
            let owner = self.model.owner_node(record.graph());
            while around.last().copied() != owner
                && let Some(inner) = around.pop()
            {
                visits.push_back(Visit::Leave(inner));
            }
            if record.nested_graphs().next().is_some() {
                visits.push_back(Visit::Enter(node));
                around.push(node);
            } else {
                visits.push_back(Visit::Leave(node));
            }
        }
        visits.extend(around.into_iter().rev().map(Visit::Leave));
        visits
    }

    /// The visits that depend on a value.
    fn affected(&self, value: ValueId) -> Vec<Visit> {
        let mut found = Vec::new();
        for usage in self.model.value(value).uses() {
            let node = match usage.user {
                User::Node(node) | User::Attribute(node) => Some(node),
                User::Graph(graph) => self.model.owner_node(graph),
            };
            let Some(node) = node else { continue };
            if self.model.node(node).nested_graphs().next().is_some() {
                found.push(Visit::Enter(node));
            }
            found.push(Visit::Leave(node));
            // An operator with graphs that has no rule depends on what they capture.
            let owner = |&node: &NodeId| self.model.owner_node(self.model.node(node).graph());
            found.extend(std::iter::successors(owner(&node), owner).map(Visit::Leave));
        }
        found
    }

    pub(super) fn class(&self, value: ValueId) -> Class {
        self.classes.get(value).copied().unwrap_or(Class::Fixed)
    }

    /// The axes of a value with the freed size.
    pub(super) fn axes(&self, value: ValueId) -> Vec<usize> {
        self.freed.constants.axes(self.freed.after, value)
    }

    /// What a node does along an axis of its operand at an index.
    pub(super) fn along(&self, node: NodeId, index: usize, axis: usize) -> Along {
        self.freed.constants.along(self.model, self.freed.after, node, index, axis)
    }

    /// Whether a dimension is known not to depend on the freed size.
    pub(super) fn is_independent(&self, dim: Dim) -> bool {
        let mut symbols = self.freed.after.exprs().symbols(dim).into_iter();
        !dim.is_unknown() && symbols.all(|symbol| self.independent.contains(&symbol))
    }

    /// The class of a value that is computed from the freed size, without rows.
    pub(super) fn of_size(&self, value: ValueId) -> Class {
        let is_independent = |&elem: &Elem| match elem {
            Elem::Unknown => false,
            Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => self.is_independent(dim),
            Elem::Float(_) => true,
        };
        let content = self.freed.after.content(value);
        let is_fixed = content.is_some_and(|all| all.iter().all(is_independent));
        if is_fixed { Class::Fixed } else { Class::OfSize }
    }

    /// The classes of the results of a node.
    fn leave(&self, node: NodeId) -> Step {
        let record = self.model.node(node);
        let outputs = || record.outputs().iter().flatten().copied();
        let classes: Vec<Class> = record.inputs().flatten().map(|value| self.class(value)).collect();
        if classes.contains(&Class::Unproved) {
            return Step::all(outputs(), Class::Unproved);
        }
        if record.nested_graphs().next().is_some() {
            return nested::leave(self, node);
        }
        if classes.iter().all(|&class| class == Class::Fixed) {
            return self.without_operands(node);
        }
        let is_of_size = record.is(op::SHAPE) || record.is(op::SIZE);
        if is_of_size && Attributes::of(self.model, node).is_some() {
            let classes = outputs().map(|output| (output, self.of_size(output))).collect();
            return Step { classes, reason: None };
        }
        let has_rows = classes.contains(&Class::Rows);
        let has_size = classes.contains(&Class::OfSize);
        if let Some(reason) = self.reason(node) {
            return Step::unproved(outputs(), reason);
        }
        if has_size && !shape_operands::are_shapes(self, node) {
            return self.computed(node, has_rows);
        }
        self.results(node, has_rows, has_size)
    }

    /// Notes that the sizes of the results of a node do not depend on the freed one, except for that of the rows: other axes of
    /// operands whose rows are apart imply them.
    fn settle(&mut self, node: NodeId, step: &Step) {
        let record = self.model.node(node);
        let is_settled =
            |value: ValueId| self.settled.contains_key(value) || self.model.value(value).producer().is_none();
        if record.graph() != self.model.main_graph()
            || record.nested_graphs().next().is_some()
            || !record.inputs().flatten().all(is_settled)
        {
            return;
        }
        let is_of_size = |value: ValueId| matches!(self.class(value), Class::OfSize | Class::Unproved);
        let is_independent = step.reason.is_none() && !record.inputs().flatten().any(is_of_size);
        for output in record.outputs().iter().flatten().copied() {
            self.settled.insert(output, ());
            let dims = self.freed.after.shape(output).unwrap_or_default();
            let symbols = dims.iter().flat_map(|&dim| self.freed.after.exprs().symbols(dim));
            if is_independent {
                let variable = self.freed.constants.variable;
                self.independent.extend(symbols.filter(|&symbol| symbol != variable));
            }
        }
    }

    /// The results of a node whose operands do not depend on a freed size.
    fn without_operands(&self, node: NodeId) -> Step {
        let outputs = || self.model.node(node).outputs().iter().flatten().copied();
        match outputs().find(|&output| !self.axes(output).is_empty()) {
            Some(_) => Step::unproved(outputs(), "has a result with the freed size, and no operand with it"),
            None => Step::default(),
        }
    }

    /// The results of a node that computes with the freed size as a number.
    fn computed(&self, node: NodeId, has_rows: bool) -> Step {
        let outputs = || self.model.node(node).outputs().iter().flatten().copied();
        if has_rows {
            return Step::unproved(outputs(), COMPUTES);
        }
        let axis = outputs().find_map(|output| self.axes(output).first().copied());
        match axis {
            Some(axis) => Step::unproved(outputs(), depends_on_index(axis)),
            None => Step {
                classes: outputs().map(|output| (output, self.of_size(output))).collect(),
                reason: None,
            },
        }
    }

    /// The results of a node that keeps the rows of its operands apart.
    fn results(&self, node: NodeId, has_rows: bool, has_size: bool) -> Step {
        let outputs = || self.model.node(node).outputs().iter().flatten().copied();
        let mut classes = Vec::new();
        for output in outputs() {
            match self.of_output(node, output, has_rows, has_size) {
                Ok(class) => classes.push((output, class)),
                Err(reason) => return Step::unproved(outputs(), reason),
            }
        }
        Step { classes, reason: None }
    }

    /// Why a node is not known to keep the rows of its operands apart.
    fn reason(&self, node: NodeId) -> Option<String> {
        let record = self.model.node(node);
        let operands: Vec<(usize, ValueId)> = (0..record.input_count())
            .filter_map(|index| Some((index, record.input(index)?)))
            .filter(|&(_, value)| self.class(value) == Class::Rows)
            .collect();
        for &(index, value) in &operands {
            let axes = self.axes(value);
            if axes.len() != 1 {
                return Some("has an operand with the freed size on several axes".to_owned());
            }
            for axis in axes {
                match self.along(node, index, axis) {
                    Along::Separate => {}
                    Along::Combined => return Some(format!("combines the elements along axis {axis}")),
                    Along::Unknown => {
                        return Some(format!("is not known to keep the elements along axis {axis} apart"));
                    }
                }
            }
        }
        if record.is(op::RESHAPE)
            && !operands.is_empty()
            && self.freed.constants.keeps_position(self.model, self.freed.after, node) != Some(true)
        {
            return Some("is not known to keep the freed size at the same elements".to_owned());
        }
        if operands.iter().any(|&(_, value)| self.meets_open_size(node, value)) {
            return Some("has an operand whose unknown size may be that of the rows".to_owned());
        }
        let is_aligned = operands.len() < 2 || self.are_aligned(operands.iter().map(|&(_, value)| value));
        (!is_aligned).then(|| "has operands in which the freed size may be in another order".to_owned())
    }

    /// Whether an operand of unknown size is broadcast with the axis that has the rows of another one: it may have an element for
    /// each row, or several that the result has instead of rows.
    fn meets_open_size(&self, node: NodeId, rows: ValueId) -> bool {
        let record = self.model.node(node);
        let attributes = Attributes::of(self.model, node);
        let shape = |value: ValueId| self.freed.after.shape(value);
        let Some((axis, dims)) = self.axes(rows).first().copied().zip(shape(rows)) else { return true };
        let from_end = dims.len().saturating_sub(axis);
        let is_broadcast = |index: usize| match record.op() {
            _ if attributes.is_none() => true,
            op::MAT_MUL | op::MAT_MUL_INTEGER | op::Q_LINEAR_MAT_MUL => from_end >= 3,
            op::GEMM => index == 2,
            op::ATTENTION => index == 3,
            other => mixing::keeps_indices(other),
        };
        // Operators before version 7 align axes as an attribute says.
        let is_legacy = attributes.is_some_and(|attributes| attributes.since() < 7);
        let is_met = |(index, other): (usize, Option<ValueId>)| {
            let Some(other) = other.filter(|_| is_broadcast(index)) else { return false };
            let Some(sizes) = shape(other) else { return true };
            let at = sizes.len().checked_sub(from_end);
            let is_open = |(place, dim): (usize, &Dim)| {
                (is_legacy || Some(place) == at) && dim.known().is_none() && dims.get(axis) != Some(dim)
            };
            sizes.iter().enumerate().any(is_open)
        };
        record.inputs().enumerate().any(is_met)
    }

    /// Whether the freed size is in the same order in all values: a multiple of it can be its rows, each with several elements, or
    /// several times all rows.
    pub(super) fn are_aligned(&self, values: impl IntoIterator<Item = ValueId>) -> bool {
        let mut first = None;
        values.into_iter().all(|value| {
            let spots = self.freed.constants.spots(self.freed.after, value);
            let [spot] = spots.as_slice() else { return false };
            let order = (spot.outer, spot.inner);
            *first.get_or_insert(order) == order
        })
    }

    /// The class of a result of a node that keeps rows apart.
    fn of_output(
        &self,
        node: NodeId,
        output: ValueId,
        has_rows: bool,
        has_size: bool,
    ) -> Result<Class, String> {
        let axes = self.axes(output);
        let other = self.other_size(output, &axes, has_size);
        // Sizes that are computed from sizes are reported where they meet rows.
        if other.is_some() && !has_rows && axes.is_empty() {
            return Ok(Class::OfSize);
        }
        if let Some(reason) = other {
            return Err(reason.to_owned());
        }
        match axes[..] {
            [] if has_rows => Err("has a result without the freed size".to_owned()),
            [] => Ok(Class::Fixed),
            [axis] if !has_rows && !self.repeats(node, axis) => Err(depends_on_index(axis)),
            [_] => Ok(Class::Rows),
            _ => Err("has the freed size on several axes of its result".to_owned()),
        }
    }

    /// Why a size of a result, on no axis with rows, is not known to be the same for all sizes of these.
    fn other_size(&self, output: ValueId, axes: &[usize], has_size: bool) -> Option<&'static str> {
        let Some(dims) = self.freed.after.shape(output) else {
            return Some("has a result whose rank is not known");
        };
        let mut others = dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        if others.clone().any(|(_, &dim)| self.freed.has_variable(dim)) {
            return Some("has a result whose size is not a known multiple of the freed one");
        }
        let is_open = has_size && others.any(|(_, &dim)| !self.is_independent(dim));
        is_open.then_some("has a result whose size may depend on the freed one")
    }

    /// Whether a node without rows in its operands makes equal elements along an axis.
    fn repeats(&self, node: NodeId, axis: usize) -> bool {
        let record = self.model.node(node);
        match record.op() {
            op::EXPAND => self.is_single(node, axis),
            op::CONSTANT_OF_SHAPE => true,
            op::TILE => self.is_single(node, axis),
            _ => false,
        }
    }

    /// Whether the first operand has one element along an axis of the result, or not the axis.
    fn is_single(&self, node: NodeId, axis: usize) -> bool {
        let shape = |value: Option<ValueId>| value.and_then(|value| self.freed.after.shape(value));
        let record = self.model.node(node);
        let (Some(data), Some(result)) = (shape(record.input(0)), shape(record.output(0))) else {
            return false;
        };
        match axis.checked_add(data.len()).and_then(|at| at.checked_sub(result.len())) {
            Some(at) => data.get(at).is_some_and(|dim| dim.known() == Some(1)),
            None => data.len() < result.len(),
        }
    }

    /// Why the rows of an output of the main graph are not known to be those of the inputs, one after the other.
    fn reason_of_output(&self, value: ValueId) -> Option<String> {
        match self.class(value) {
            Class::Fixed | Class::Unproved => None,
            Class::OfSize => Some("depends on the freed size as a number".to_owned()),
            Class::Rows => {
                let spots = self.freed.constants.spots(self.freed.after, value);
                let is_in_order = matches!(spots.as_slice(), [spot] if spot.outer == 1);
                (!is_in_order).then(|| "may have the freed size in another order".to_owned())
            }
        }
    }
}

fn depends_on_index(axis: usize) -> String {
    format!("makes elements along axis {axis} that depend on their index")
}

/// The class of a value that can be of two, and whether they agree.
pub(super) fn join(one: Class, two: Class) -> (Class, bool) {
    match (one, two) {
        (Class::Fixed, other) | (other, Class::Fixed) => (other, true),
        (Class::Unproved, _) | (_, Class::Unproved) => (Class::Unproved, true),
        (one, two) if one == two => (one, true),
        _ => (Class::Unproved, false),
    }
}
