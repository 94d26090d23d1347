//! Constants that contain a size which is freed.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Constant, EditError, Model, NodeId, Position, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, Symbol};
use onnx_version::constant_node;
use slotmap::SecondaryMap;

use super::attributes::Attributes;
use super::choice::Choice;
use super::mixing;
use super::reshape::{Entry, Reshape, Spot};

/// An operand that is replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Edit {
    /// The operand, a shape, is this one.
    Shape(Vec<Entry>),
    /// The operand is expanded to this shape.
    Expand(Vec<Entry>),
}

/// A replaced operand.
struct Replaced {
    original: ValueId,
    edit: Edit,
}

/// The replacement of constants in a model whose size was freed.
pub(super) struct Constants<'a> {
    /// The results for the old size.
    pub(super) before: &'a Inference,
    /// The variable that was freed.
    pub(super) variable: Symbol,
    pub(super) old: i64,
    /// The input and the axis that have the size.
    pub(super) source: (ValueId, usize),
    /// Whether the freed size is that of a batch: the first axis, with one row. Rows must be independent then, which an old size
    /// of 1 does not show.
    pub(super) is_batch: bool,
    /// Whether the freed size is that of first axes.
    pub(super) is_first_axis: bool,
    /// Values that depend on the inputs with freed sizes.
    pub(super) dependent: &'a SecondaryMap<ValueId, ()>,
    /// Values that depend on any input.
    fed: &'a SecondaryMap<ValueId, ()>,
    replaced: HashMap<(NodeId, usize), Replaced, RandomState>,
    /// The position of the freed size among the factors of axes.
    pub(super) orders: SecondaryMap<ValueId, Vec<Spot>>,
    /// The freed size as a vector of one element, once it is needed.
    vector: Option<ValueId>,
    /// Number of edits of each operand.
    edits: HashMap<(NodeId, usize), u32, RandomState>,
}

/// Maximum number of edits of one operand: what is known about its node may change as others are edited.
const MAX_EDITS: u32 = 4;

impl<'a> Constants<'a> {
    pub(super) fn new(
        before: &'a Inference,
        variable: Symbol,
        old: i64,
        axes: &[(ValueId, usize)],
        dependent: &'a SecondaryMap<ValueId, ()>,
        fed: &'a SecondaryMap<ValueId, ()>,
    ) -> Option<Self> {
        Some(Self {
            before,
            variable,
            old,
            source: *axes.first()?,
            is_batch: old == 1 && axes.iter().all(|&(_, axis)| axis == 0),
            is_first_axis: axes.iter().all(|&(_, axis)| axis == 0),
            dependent,
            fed,
            replaced: HashMap::default(),
            orders: SecondaryMap::new(),
            vector: None,
            edits: HashMap::default(),
        })
    }

    /// Replaces what contains the old size next to axes that inference knows to be freed. Returns whether anything has changed.
    pub(super) fn round(&mut self, model: &mut Model, after: &Inference) -> Result<bool, EditError> {
        self.orders.clear();
        let mut wanted: Vec<(NodeId, usize, Option<Edit>)> = Vec::new();
        for node in model.nodes_in(model.main_graph()) {
            let found = self.visit(model, after, node);
            // An operand that was replaced too early is as it was before.
            let stale = (0..model.node(node).inputs().len())
                .filter(|&index| self.replaced.contains_key(&(node, index)))
                .filter(|&index| found.iter().all(|(other, _)| *other != index));
            wanted.extend(stale.map(|index| (node, index, None)));
            wanted.extend(found.into_iter().map(|(index, edit)| (node, index, Some(edit))));
            self.note_orders(model, after, node);
        }
        let mut is_changed = false;
        for (node, index, edit) in wanted {
            is_changed |= self.replace(model, node, index, edit)?;
        }
        Ok(is_changed)
    }

    /// Erases the constants that nothing uses any more.
    pub(super) fn finish(&self, model: &mut Model) -> Result<(), EditError> {
        let mut originals: Vec<ValueId> = self.replaced.values().map(|replaced| replaced.original).collect();
        originals.sort_unstable();
        originals.into_iter().try_for_each(|original| erase_unused(model, original))
    }

    /// The nodes whose constants were replaced, with the new operand.
    pub(super) fn report(&self, model: &Model) -> Vec<(NodeId, String)> {
        let mut found: Vec<(NodeId, usize, String)> = Vec::new();
        let replaced = self.replaced.iter().filter(|((node, _), _)| model.get_node(*node).is_some());
        for (&(node, index), replaced) in replaced {
            let text = |entries: &[Entry]| {
                let entries = entries.iter().map(|entry| match entry {
                    Entry::Number(number) => number.to_string(),
                    Entry::Multiple(1) => super::shown(model.str(self.variable)).to_owned(),
                    Entry::Multiple(factor) => format!("{factor}*{}", super::shown(model.str(self.variable))),
                });
                entries.collect::<Vec<_>>().join(", ")
            };
            found.push((
                node,
                index,
                match &replaced.edit {
                    Edit::Shape(entries) => format!("[{}]", text(entries)),
                    Edit::Expand(entries) => format!("operand {index} expanded to [{}]", text(entries)),
                },
            ));
        }
        found.sort_by_key(|(node, index, _)| (model.order_key(*node), *index));
        found.into_iter().map(|(node, _, text)| (node, text)).collect()
    }

    /// The freed axes of the operand of a `Reshape` and of its result, with the constant target.
    pub(super) fn reshaped(
        &self,
        model: &Model,
        after: &Inference,
        node: NodeId,
        data: ValueId,
    ) -> (Vec<Spot>, Vec<Spot>, Option<Vec<i64>>) {
        let target = self.numbers(model, after, node, 1);
        let Some(output) = model.node(node).output(0) else { return (Vec::new(), Vec::new(), None) };
        let moved = |from: Spot| {
            let mut candidates = self.candidates(model, node, from)?;
            if target.is_none() {
                // The model computes the shape.
                candidates.retain(|spot| self.has(after, output, *spot));
            }
            match candidates.as_slice() {
                [only] => Some(*only),
                all => Choice { constants: self, model, after, visits: 0 }.decide(output, all),
            }
        };
        let pairs = self.spots(after, data).into_iter().filter_map(|from| Some((from, moved(from)?)));
        let (from, to): (Vec<Spot>, Vec<Spot>) = pairs.unzip();
        (from, to, target)
    }

    /// The axes of the result of a `Reshape` or `Flatten` that can have the freed size of an axis of the operand; `None` if they
    /// are unknown.
    pub(super) fn candidates(&self, model: &Model, node: NodeId, from: Spot) -> Option<Vec<Spot>> {
        let record = model.node(node);
        let (data, output) = (self.before.shape(record.input(0)?)?, self.before.shape(record.output(0)?)?);
        let attributes = Attributes::of(model, node)?;
        let allow_zero = attributes.int(attr::ALLOWZERO) == Some(1);
        let reshape = Reshape { target: &[], data, output, allow_zero, old: self.old };
        let mut found = reshape.candidates(from)?;
        if record.is(op::FLATTEN) {
            let is_second = from.axis >= attributes.axis(attr::AXIS, data.len())?;
            found = reshape.all(from)?;
            found.retain(|spot| spot.axis == usize::from(is_second));
        }
        Some(found)
    }

    /// The axes of the result of a `Reshape` that can have the size of an axis of the operand, if there are several and none is
    /// the only right one.
    pub(super) fn ambiguous(&self, model: &Model, after: &Inference, node: NodeId) -> Option<Vec<Spot>> {
        let record = model.node(node);
        let (data, output) = (record.input(0)?, record.output(0)?);
        self.numbers(model, after, node, 1)?;
        self.spots(after, data).into_iter().find_map(|from| {
            let candidates = self.candidates(model, node, from)?;
            let mut choice = Choice { constants: self, model, after, visits: 0 };
            (candidates.len() > 1 && choice.decide(output, &candidates).is_none()).then_some(candidates)
        })
    }

    /// The elements of an operand as they were before it was replaced, if they are all numbers.
    pub(super) fn numbers(
        &self,
        model: &Model,
        after: &Inference,
        node: NodeId,
        index: usize,
    ) -> Option<Vec<i64>> {
        let value = match self.replaced.get(&(node, index)) {
            Some(replaced) => replaced.original,
            None => model.node(node).input(index)?,
        };
        mixing::numbers(model, after, value)
    }

    /// The operands of a node that must be replaced.
    fn visit(&self, model: &Model, after: &Inference, node: NodeId) -> Vec<(usize, Edit)> {
        let record = model.node(node);
        let is_in_reach = model.root(record.graph()) == model.main_graph();
        let is_onnx = onnx_schema::normalize_domain(record.domain()) == domain::ONNX;
        let is_dependent = record.inputs().flatten().any(|value| self.dependent.contains_key(value));
        if !is_in_reach || !is_onnx || !is_dependent {
            return Vec::new();
        }
        let edits = match record.op() {
            op::RESHAPE => self.reshape(model, after, node),
            op::EXPAND => self.expand(model, after, node),
            op::SLICE => self.slice(model, after, node),
            op::RESIZE => self.resize(model, after, node),
            op::CONCAT => return self.concat(model, after, node),
            op::LSTM | op::GRU | op::RNN => return self.recurrent(model, after, node),
            _ => None,
        };
        edits.map(|(index, entries)| (index, Edit::Shape(entries))).into_iter().collect()
    }

    fn reshape(&self, model: &Model, after: &Inference, node: NodeId) -> Option<(usize, Vec<Entry>)> {
        let data = model.node(node).input(0)?;
        let (from, to, target) = self.reshaped(model, after, node, data);
        let target = target?;
        let shapes = self.before.shape(data).zip(self.before.shape(model.node(node).output(0)?))?;
        let allow_zero = Attributes::of(model, node)?.int(attr::ALLOWZERO) == Some(1);
        let reshape =
            Reshape { target: &target, data: shapes.0, output: shapes.1, allow_zero, old: self.old };
        let new = reshape.new_target(&from, &to);
        let is_same = new.iter().zip(&target).all(|(new, old)| *new == Entry::Number(*old));
        (!is_same).then_some((1, new))
    }

    /// A size that equals that of the operand is 1, which keeps it.
    fn expand(&self, model: &Model, after: &Inference, node: NodeId) -> Option<(usize, Vec<Entry>)> {
        let data = model.node(node).input(0)?;
        let mut target = self.numbers(model, after, node, 1)?;
        let (dims, mut is_changed) = (self.before.shape(data)?, false);
        let offset = target.len().checked_sub(dims.len())?;
        for spot in self.spots(after, data) {
            let slot = target.get_mut(spot.axis.checked_add(offset)?)?;
            if Some(*slot) == dims.get(spot.axis).and_then(|dim| dim.known()) && *slot != 1 {
                (*slot, is_changed) = (1, true);
            }
        }
        is_changed.then(|| (1, target.into_iter().map(Entry::Number).collect()))
    }

    /// An end that is the end of the axis is the greatest number.
    fn slice(&self, model: &Model, after: &Inference, node: NodeId) -> Option<(usize, Vec<Entry>)> {
        let data = model.node(node).input(0)?;
        let [starts, mut ends] = [1, 2].map(|index| self.numbers(model, after, node, index));
        let (starts, ends) = (starts?, ends.as_mut()?);
        let all = |default: fn(usize) -> i64, index: usize| match model.node(node).input(index) {
            None => Some((0..starts.len()).map(default).collect::<Vec<_>>()),
            Some(_) => self.numbers(model, after, node, index),
        };
        let axes = all(|index| index as i64, 3)?;
        let steps = all(|_| 1, 4)?;
        let (dims, mut is_changed) = (self.before.shape(data)?, false);
        let rank = i64::try_from(dims.len()).ok()?;
        let spots = self.spots(after, data);
        for (index, end) in ends.iter_mut().enumerate() {
            let axis = axes.get(index).copied()?;
            let axis = usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis }).ok()?;
            let size = dims.get(axis).and_then(|dim| dim.known());
            let is_whole =
                Some(*end) == size && starts.get(index) == Some(&0) && steps.get(index) == Some(&1);
            if is_whole && spots.iter().any(|spot| spot.axis == axis) {
                (*end, is_changed) = (i64::MAX, true);
            }
        }
        is_changed.then(|| (2, ends.iter().copied().map(Entry::Number).collect()))
    }

    /// A size that equals that of the operand is the freed one.
    fn resize(&self, model: &Model, after: &Inference, node: NodeId) -> Option<(usize, Vec<Entry>)> {
        let data = model.node(node).input(0)?;
        let target = self.numbers(model, after, node, 3)?;
        let dims = self.before.shape(data)?;
        let mut entries: Vec<Entry> = target.iter().copied().map(Entry::Number).collect();
        // With the attribute `axes`, the sizes are of other axes.
        if entries.len() != dims.len() || model.node(node).attribute(attr::AXES).is_some() {
            return None;
        }
        let mut is_changed = false;
        for spot in self.spots(after, data) {
            let size = dims.get(spot.axis).and_then(|dim| dim.known());
            if target.get(spot.axis).copied() == size
                && let Some(slot) = entries.get_mut(spot.axis)
            {
                (*slot, is_changed) = (Entry::Multiple(spot.outer.checked_mul(spot.inner)?), true);
            }
        }
        is_changed.then_some((3, entries))
    }

    /// An operand with the size 1, where others have the freed size.
    fn concat(&self, model: &Model, after: &Inference, node: NodeId) -> Vec<(usize, Edit)> {
        let record = model.node(node);
        let axis = Attributes::of(model, node).and_then(|attributes| attributes.int(attr::AXIS));
        let Some(axis) = axis else { return Vec::new() };
        let operand = |index: usize| match self.replaced.get(&(node, index)) {
            Some(replaced) => Some(replaced.original),
            None => record.input(index),
        };
        let inputs: Vec<Option<ValueId>> = (0..record.inputs().len()).map(operand).collect();
        let rank = inputs.iter().flatten().find_map(|&input| after.shape(input).map(<[Dim]>::len));
        let Some(rank) = rank else { return Vec::new() };
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        let freed: Vec<Spot> = inputs.iter().flatten().flat_map(|&input| self.spots(after, input)).collect();
        let is_freed = |index: usize| {
            index as i64 != axis
                && freed.iter().any(|spot| spot.axis == index && spot.outer == 1 && spot.inner == 1)
        };
        let expanded = |(index, input): (usize, Option<ValueId>)| {
            let dims = after.shape(input?)?;
            let is_open = |at: usize| is_freed(at) && dims.get(at) == Some(&Dim::Known(1));
            let entries =
                (0..dims.len()).map(|at| if is_open(at) { Entry::Multiple(1) } else { Entry::Number(1) });
            let is_needed = self.old == 1 && !self.fed.contains_key(input?) && (0..dims.len()).any(is_open);
            is_needed.then(|| (index, Edit::Expand(entries.collect())))
        };
        inputs.iter().copied().enumerate().filter_map(expanded).collect()
    }

    /// Initial states with the size 1.
    fn recurrent(&self, model: &Model, after: &Inference, node: NodeId) -> Vec<(usize, Edit)> {
        let record = model.node(node);
        let layout = Attributes::of(model, node).and_then(|attributes| attributes.int(attr::LAYOUT));
        let is_batch_first = layout == Some(1);
        let [of_data, of_state] = if is_batch_first { [0, 0] } else { [1, 1] };
        let spots = record.input(0).map(|data| self.spots(after, data)).unwrap_or_default();
        let is_freed = spots.iter().any(|spot| spot.axis == of_data && spot.outer == 1 && spot.inner == 1);
        if !is_freed || self.old != 1 {
            return Vec::new();
        }
        let state = |index: usize| {
            let value = match self.replaced.get(&(node, index)) {
                Some(replaced) => replaced.original,
                None => record.input(index)?,
            };
            let axis = if index == 4 { 0 } else { of_state };
            let dims = after.shape(value).filter(|dims| dims.get(axis) == Some(&Dim::Known(1)))?;
            let entries =
                (0..dims.len()).map(|at| if at == axis { Entry::Multiple(1) } else { Entry::Number(1) });
            (!self.fed.contains_key(value)).then(|| (index, Edit::Expand(entries.collect())))
        };
        [4, 5, 6].into_iter().filter_map(state).collect()
    }

    /// Replaces an operand, or restores it.
    fn replace(
        &mut self,
        model: &mut Model,
        node: NodeId,
        index: usize,
        edit: Option<Edit>,
    ) -> Result<bool, EditError> {
        let version = model.versions_in(model.main_graph()).get(domain::ONNX).unwrap_or(0);
        if matches!(edit, Some(Edit::Expand(_))) && version < 8 {
            // The version has no `Expand`: the constant fixes the size.
            return Ok(false);
        }
        let count = self.edits.entry((node, index)).or_insert(0);
        if *count >= MAX_EDITS {
            return Ok(false);
        }
        let old = self.replaced.remove(&(node, index));
        if let (Some(old), Some(edit)) = (&old, &edit)
            && old.edit == *edit
        {
            self.replaced.extend([((node, index), Replaced { original: old.original, edit: edit.clone() })]);
            return Ok(false);
        }
        *count += 1;
        let current = model.node(node).input(index);
        let Some(original) = old.map(|old| old.original).or(current) else { return Ok(false) };
        let new = match &edit {
            None => original,
            Some(Edit::Shape(entries)) => self.shape(model, node, entries)?,
            Some(Edit::Expand(entries)) => {
                let shape = self.shape(model, node, entries)?;
                model.build_at(Position::Before(node)).op(op::EXPAND, [original, shape]).output()?
            }
        };
        model.set_input(node, index, Some(new));
        if let Some(current) = current.filter(|&current| current != original) {
            erase_unused(model, current)?;
        }
        if let Some(edit) = edit {
            self.replaced.insert((node, index), Replaced { original, edit });
        }
        Ok(true)
    }

    /// A vector of sizes.
    fn shape(&mut self, model: &mut Model, node: NodeId, entries: &[Entry]) -> Result<ValueId, EditError> {
        let mut parts = Vec::new();
        let mut numbers: Vec<i64> = Vec::new();
        for &entry in entries {
            match entry {
                Entry::Number(number) => numbers.push(number),
                Entry::Multiple(factor) => {
                    if !numbers.is_empty() {
                        parts.push(constant(model, &std::mem::take(&mut numbers))?);
                    }
                    let mut size = self.size(model)?;
                    if factor != 1 {
                        let factor = constant(model, &[factor])?;
                        size = model.build_at(Position::Before(node)).op(op::MUL, [size, factor]).output()?;
                    }
                    parts.push(size);
                }
            }
        }
        if !numbers.is_empty() {
            parts.push(constant(model, &numbers)?);
        }
        match parts.as_slice() {
            [single] => Ok(*single),
            _ => {
                let mut build = model.build_at(Position::Before(node));
                build.op(op::CONCAT, parts).attr(attr::AXIS, 0_i64).output()
            }
        }
    }

    /// The freed size as a vector of one element.
    fn size(&mut self, model: &mut Model) -> Result<ValueId, EditError> {
        if let Some(vector) = self.vector.filter(|&vector| model.get_value(vector).is_some()) {
            return Ok(vector);
        }
        let (input, axis) = self.source;
        let mut build = model.build_at(Position::Start(model.main_graph()));
        let shape = build.op(op::SHAPE, [input]).output()?;
        let axis = constant(model, &[axis as i64])?;
        let Some(producer) = model.value(shape).producer() else { return Ok(shape) };
        let mut build = model.build_at(Position::After(producer));
        let vector = build.op(op::GATHER, [shape, axis]).attr(attr::AXIS, 0_i64).output()?;
        self.vector = Some(vector);
        Ok(vector)
    }
}

/// A vector of numbers: an initializer, or a node where initializers are inputs.
fn constant(model: &mut Model, numbers: &[i64]) -> Result<ValueId, EditError> {
    let (graph, tensor) = (model.main_graph(), Tensor::vector(numbers));
    if model.info().ir_version < 4
        && let Some(value) = constant_node(model, graph, tensor.clone())
    {
        return Ok(value);
    }
    let name = model.fresh_name("sizes");
    Ok(model.add_initializer(graph, name, Constant::Dense(tensor)))
}

/// Erases a value and its producer if nothing uses them, and then what only these used.
pub(super) fn erase_unused(model: &mut Model, value: ValueId) -> Result<(), EditError> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let Some(record) = model.get_value(value) else { continue };
        if record.is_used() || matches!(record.def(), onnx_ir::Def::Input { .. }) {
            continue;
        }
        match record.producer() {
            None => model.erase_value(value)?,
            Some(node)
                if model
                    .node(node)
                    .outputs()
                    .iter()
                    .flatten()
                    .all(|&output| !model.value(output).is_used()) =>
            {
                open.extend(model.node(node).inputs().flatten());
                model.erase_node(node)?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}
