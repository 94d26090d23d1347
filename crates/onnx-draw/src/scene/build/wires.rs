//! The edges of a level, and the boxes of values that cross its border.

use std::collections::{HashMap, HashSet};

use onnx_ir::{Def, NodeId, User, ValueId};

use super::{Build, Graph, Task};
use crate::scene::{Edge, Item, ItemKind, label_room};
use crate::text::{fitted, shown, type_text};

/// Ports, inputs or outputs of a level that have a box each; more have one together.
const MOST_PORTS: usize = 40;
/// Inputs or outputs of a graph from which on those with names that differ in numbers only have one box together, and their
/// number.
const MOST_SINGLE: usize = 8;
const LEAST_SERIES: usize = 4;
/// Values that arrive at a level and have labels at most.
const MOST_LABELED_PORTS: usize = 6;
/// Labels of the edges that begin at a box at most.
const MOST_LABELS: usize = 3;

/// The edges of a level.
pub(super) struct Wires<'b, 'm, 'o, 'g> {
    build: &'b mut Build<'m, 'o>,
    cx: &'g Graph<'m>,
    task: &'g Task,
    edges: Vec<Edge>,
    index: HashMap<(usize, usize), usize>,
    seen: HashSet<(usize, ValueId)>,
}

impl<'b, 'm, 'o, 'g> Wires<'b, 'm, 'o, 'g> {
    pub(super) fn new(build: &'b mut Build<'m, 'o>, cx: &'g Graph<'m>, task: &'g Task) -> Self {
        Self { build, cx, task, edges: Vec::new(), index: HashMap::new(), seen: HashSet::new() }
    }

    fn owner(&self, node: NodeId) -> Option<usize> {
        let number = *self.cx.number.get(node)?;
        let (level, item) = self.cx.owner[number as usize];
        (level == self.task.level).then_some(item)
    }

    fn add(&mut self, from: usize, to: usize, value: ValueId, slot: u32) {
        if from == to {
            return;
        }
        let next = self.edges.len();
        let index = *self.index.entry((from, to)).or_insert(next);
        let is_new = self.seen.insert((index, value));
        match self.edges.get_mut(index) {
            Some(edge) => {
                edge.values.extend(is_new.then_some(value));
                edge.slot = edge.slot.min(slot);
            }
            None => self.edges.push(Edge { from, to, values: vec![value], slot, trunk: 0, label: None }),
        }
    }

    pub(super) fn connect(mut self) {
        let model = self.build.model;
        let (mut arriving, mut leaving) = (Border::default(), Border::default());
        for &member in &self.task.members {
            let node = self.cx.drawn[member as usize];
            let Some(to) = self.owner(node) else { continue };
            for &(value, slot) in &self.cx.operands[member as usize] {
                match model.value(value).producer().and_then(|maker| self.owner(maker)) {
                    Some(from) => self.add(from, to, value, slot),
                    None => arriving.add(value, to, slot),
                }
            }
            for &value in model.node(node).outputs().iter().flatten() {
                if self.leaves(value) {
                    leaving.add(value, to, 0);
                }
            }
        }
        if self.task.is_outermost {
            self.interface(&mut arriving, &mut leaving);
        }
        self.border(&arriving, true);
        self.border(&leaving, false);
        let mut trunks: HashMap<(usize, ValueId), u32> = HashMap::new();
        for edge in &mut self.edges {
            let next = u32::try_from(trunks.len()).unwrap_or(u32::MAX);
            edge.trunk = *trunks.entry((edge.from, edge.values[0])).or_insert(next);
        }
        self.label();
        self.build.levels[self.task.level].edges = self.edges;
    }

    /// Labels the first of the edges that begin at one place. Many labels side by side would make a box as wide as the picture,
    /// and the box of an input has its type.
    fn label(&mut self) {
        let mut begins: Vec<HashSet<u32>> = Vec::new();
        begins.resize_with(self.build.levels[self.task.level].items.len(), HashSet::new);
        let items = &self.build.levels[self.task.level].items;
        let arriving = items.iter().filter(|item| item.kind == ItemKind::Arriving).count();
        let firsts: Vec<bool> = self.edges.iter().map(|edge| begins[edge.from].insert(edge.trunk)).collect();
        for (edge, is_first) in self.edges.iter_mut().zip(firsts) {
            let kind = self.build.levels[self.task.level].items[edge.from].kind;
            let is_crowded = kind == ItemKind::Arriving && arriving > MOST_LABELED_PORTS;
            let has_room = begins[edge.from].len() <= MOST_LABELS && !is_crowded;
            if is_first && has_room && kind != ItemKind::Input {
                let label = match edge.values.as_slice() {
                    [value] => type_text(self.build.model, self.build.options.inference, *value),
                    values => format!("{} values", values.len()),
                };
                // Labels side by side are not wider than the box that makes room for them.
                let count = begins[edge.from].len();
                let is_alone = count == 1 || kind == ItemKind::Arriving;
                edge.label = Some(if is_alone { label } else { fitted(label, label_room(count)) });
            }
        }
    }

    /// Returns `true` if something outside of the level uses a value.
    fn leaves(&self, value: ValueId) -> bool {
        let model = self.build.model;
        model.value(value).uses().iter().any(|usage| match usage.user {
            User::Graph(graph) => graph == self.cx.graph,
            User::Node(node) | User::Attribute(node) => {
                let outer = model.ancestor_in(node, self.cx.graph);
                outer.is_some_and(|outer| self.owner(outer).is_none())
            }
        })
    }

    /// Unused inputs of a graph, and outputs that no node makes.
    fn interface(&self, arriving: &mut Border, leaving: &mut Border) {
        if self.build.options.nodes.is_some() && self.task.level == 0 {
            return;
        }
        let model = self.build.model;
        let graph = model.graph(self.cx.graph);
        for &value in graph.inputs() {
            if model.value(value).initializer().is_none() {
                arriving.values.entry(value).or_default();
                arriving.order.extend((arriving.order.len() < arriving.values.len()).then_some(value));
            }
        }
        for output in graph.outputs() {
            leaving.values.entry(output.value()).or_default();
            leaving.order.extend((leaving.order.len() < leaving.values.len()).then_some(output.value()));
        }
    }

    /// Boxes for values that cross the border of the level.
    fn border(&mut self, border: &Border, is_arriving: bool) {
        let model = self.build.model;
        let is_interface = |value: ValueId| {
            let is_root = self.task.level == 0;
            is_root
                || self.task.is_outermost
                    && match is_arriving {
                        true => {
                            matches!(model.value(value).def(), Def::Input { graph, .. } if graph == self.cx.graph)
                        }
                        false => true,
                    }
        };
        let (outer, inner): (Vec<ValueId>, Vec<ValueId>) =
            border.order.iter().copied().partition(|&value| is_interface(value));
        let kinds = match is_arriving {
            true => (ItemKind::Input, ItemKind::Arriving),
            false => (ItemKind::Output, ItemKind::Leaving),
        };
        for (kind, values) in [(kinds.0, outer), (kinds.1, inner)] {
            if values.is_empty() {
                continue;
            }
            let mut pieces = self.pieces(kind, &values);
            if pieces.len() > MOST_PORTS {
                pieces = vec![values];
            }
            for piece in pieces {
                let index = self.build.levels[self.task.level].items.len();
                let item = self.port(kind, &piece);
                self.build.levels[self.task.level].items.push(item);
                for value in &piece {
                    for &(item, slot) in border.values.get(value).into_iter().flatten() {
                        match is_arriving {
                            true => self.add(index, item, *value, slot),
                            false => self.add(item, index, *value, slot),
                        }
                    }
                }
            }
        }
        // An output that is an input.
        if !is_arriving && self.task.is_outermost {
            self.pass_through();
        }
    }

    fn pass_through(&mut self) {
        let items = &self.build.levels[self.task.level].items;
        let of = |kind: ItemKind| {
            let items = items.iter().enumerate().filter(move |(_, item)| item.kind == kind);
            items.flat_map(|(index, item)| item.values.iter().map(move |&value| (value, index)))
        };
        let inputs: HashMap<ValueId, usize> = of(ItemKind::Input).chain(of(ItemKind::Arriving)).collect();
        let passed: Vec<(usize, usize, ValueId)> =
            of(ItemKind::Output).filter_map(|(value, to)| Some((*inputs.get(&value)?, to, value))).collect();
        for (from, to, value) in passed {
            self.add(from, to, value, 0);
        }
    }

    /// The values that have a box together: the caches of all layers, for example.
    fn pieces(&self, kind: ItemKind, values: &[ValueId]) -> Vec<Vec<ValueId>> {
        let is_interface = matches!(kind, ItemKind::Input | ItemKind::Output);
        if !is_interface || values.len() <= MOST_SINGLE {
            return values.iter().map(|&value| vec![value]).collect();
        }
        let mut pieces: Vec<Vec<ValueId>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for &value in values {
            let next = pieces.len();
            let index = *known.entry(self.series(value)).or_insert(next);
            match pieces.get_mut(index) {
                Some(piece) => piece.push(value),
                None => pieces.push(vec![value]),
            }
        }
        let few = |piece: Vec<ValueId>| match piece.len() < LEAST_SERIES {
            true => piece.into_iter().map(|value| vec![value]).collect(),
            false => vec![piece],
        };
        pieces.into_iter().flat_map(few).collect()
    }

    /// The name of a value without its numbers: `past_key_values.*.key`.
    fn series(&self, value: ValueId) -> String {
        let mut found = String::new();
        for c in self.build.model.str(self.build.model.value(value).name()).chars() {
            match c.is_ascii_digit() {
                true if found.ends_with('*') => {}
                true => found.push('*'),
                false => found.push(c),
            }
        }
        found
    }

    fn port(&self, kind: ItemKind, values: &[ValueId]) -> Item {
        let (model, inference) = (self.build.model, self.build.options.inference);
        let what = if matches!(kind, ItemKind::Input | ItemKind::Arriving) { "inputs" } else { "outputs" };
        let (title, lines) = match values {
            &[value] => {
                let name = shown(model.str(model.value(value).name()));
                (name, vec![type_text(model, inference, value)])
            }
            values => {
                let count = format!("{} {what}", values.len());
                let name = shared(values.iter().map(|&value| self.series(value)));
                let ty = shared(values.iter().map(|&value| type_text(model, inference, value)));
                match name {
                    Some(name) => (shown(&name), ty.into_iter().chain([count]).collect()),
                    None => (count, Vec::new()),
                }
            }
        };
        Item { kind, title, lines, inside: None, nodes: 0, values: values.to_vec() }
    }
}

/// The text that all are; none if they differ.
fn shared(mut texts: impl Iterator<Item = String>) -> Option<String> {
    let first = texts.next()?;
    texts.all(|text| text == first).then_some(first)
}

/// Values that cross the border of a level, in the order in which they were found, with the boxes inside.
#[derive(Default)]
struct Border {
    order: Vec<ValueId>,
    values: HashMap<ValueId, Vec<(usize, u32)>>,
}

impl Border {
    fn add(&mut self, value: ValueId, item: usize, slot: u32) {
        let boxes = self.values.entry(value).or_insert_with(|| {
            self.order.push(value);
            Vec::new()
        });
        if boxes.last().is_none_or(|&(last, _)| last != item) {
            boxes.push((item, slot));
        }
    }
}
