//! The levels of a scene.

mod wires;

use std::collections::{HashMap, HashSet, VecDeque};

use onnx_ir::{FunctionId, GraphId, Model, NodeId, User, ValueId};
use onnx_schema::op;
use onnx_types::tensor::Tensor;
use slotmap::{SecondaryMap, SparseSecondaryMap};

use super::divide::{Division, Draft, Nodes, divide};
use super::paths::{Paths, adopt};
use super::{Item, ItemKind, LevelId, SceneLevel, SceneOptions};
use crate::text::{elements_text, shortened, shown, type_text};
use wires::Wires;

/// Weights that a node lists.
const MOST_WEIGHTS: usize = 3;

/// Scopes that the title of a part names.
const MOST_NAMED: usize = 4;

/// The places of nodes: their levels and boxes.
pub(super) type Places = SecondaryMap<NodeId, (LevelId, usize)>;

/// The levels of a model, the outermost first, and the places of nodes.
pub(super) fn levels(model: &Model, options: &SceneOptions<'_>) -> (Vec<SceneLevel>, Places) {
    let mut build = Build {
        model,
        options,
        levels: vec![SceneLevel::default()],
        places: Places::new(),
        bodies: SecondaryMap::new(),
        graphs: VecDeque::new(),
    };
    let main = options.graph.unwrap_or(model.main_graph());
    build.graphs.push_back((main, 0));
    while let Some((graph, level)) = build.graphs.pop_front() {
        let chosen = options.nodes.filter(|_| level == 0);
        build.graph(graph, level, chosen);
    }
    (build.levels, build.places)
}

struct Build<'m, 'o> {
    model: &'m Model,
    options: &'o SceneOptions<'m>,
    levels: Vec<SceneLevel>,
    places: Places,
    /// The levels of bodies of functions.
    bodies: SecondaryMap<FunctionId, LevelId>,
    /// Graphs whose level is empty so far.
    graphs: VecDeque<(GraphId, LevelId)>,
}

/// A graph whose levels are built.
struct Graph<'m> {
    graph: GraphId,
    /// The nodes that are drawn, in topological order.
    drawn: Vec<NodeId>,
    /// The number of each drawn node. A model can have many graphs, so that the cost is that of this graph.
    number: SparseSecondaryMap<NodeId, u32>,
    nodes: Nodes,
    /// What each node uses, captures included, with the first index of the operand.
    operands: Vec<Vec<(ValueId, u32)>>,
    paths: Paths<'m>,
    /// The titles of the components that are groups of the caller.
    titles: HashMap<u32, &'m str>,
    /// The box of the level that is built, for each node; `(level, item)`.
    owner: Vec<(LevelId, usize)>,
}

/// A level that will be built: nodes whose paths are equal in the first components.
struct Task {
    level: LevelId,
    members: Vec<u32>,
    depth: usize,
    is_outermost: bool,
    /// Whether the nodes are a part of a level that has too many boxes.
    is_part: bool,
}

impl<'m> Build<'m, '_> {
    fn graph(&mut self, graph: GraphId, level: LevelId, chosen: Option<&[NodeId]>) {
        let mut cx = self.collect(graph, chosen);
        let members = (0..u32::try_from(cx.drawn.len()).unwrap_or(u32::MAX)).collect();
        let mut tasks = vec![Task { level, members, depth: 0, is_outermost: true, is_part: false }];
        while let Some(task) = tasks.pop() {
            self.level(&mut cx, &task, &mut tasks);
        }
        self.place_constants(&cx, graph);
    }

    /// The nodes of a graph that are drawn, with their scopes and operands.
    fn collect(&mut self, graph: GraphId, chosen: Option<&[NodeId]>) -> Graph<'m> {
        let model = self.model;
        let nodes: Vec<NodeId> = model.sorted_nodes(graph).unwrap_or_else(|_| model.nodes(graph).collect());
        let mut is_chosen: SparseSecondaryMap<NodeId, ()> = SparseSecondaryMap::new();
        chosen.unwrap_or(&nodes).iter().for_each(|&node| {
            is_chosen.insert(node, ());
        });
        let is_drawn = |node: &NodeId| {
            is_chosen.contains_key(*node) && (chosen.is_some() || !is_weight_node(model, *node))
        };
        let drawn: Vec<NodeId> = nodes.into_iter().filter(is_drawn).collect();
        let mut number = SparseSecondaryMap::new();
        for (index, &node) in drawn.iter().enumerate() {
            number.insert(node, u32::try_from(index).unwrap_or(u32::MAX));
        }
        let operands: Vec<_> = drawn.iter().map(|&node| operands(model, graph, node)).collect();
        let sources = operands.iter().map(|operands| {
            let makers = operands.iter().filter_map(|&(value, _)| model.value(value).producer());
            makers.filter_map(|maker| number.get(maker).copied()).collect()
        });
        let sources: Vec<Vec<u32>> = sources.collect();
        let mut paths = Paths::default();
        let mut scopes: Vec<Vec<u32>> = drawn.iter().map(|&node| paths.of(model, node)).collect();
        let mut titles = HashMap::new();
        for group in self.options.groups {
            let members: Vec<u32> =
                group.nodes.iter().filter_map(|&node| number.get(node).copied()).collect();
            let has_scope = |&member: &u32| !scopes[member as usize].is_empty();
            if members.is_empty() || members.iter().any(has_scope) {
                continue;
            }
            // Texts of two groups may be equal, so the number does not come from the table.
            paths.texts.push("");
            let component = u32::try_from(paths.texts.len() - 1).unwrap_or(u32::MAX);
            titles.insert(component, group.title.as_str());
            members.iter().for_each(|&member| scopes[member as usize].push(component));
        }
        adopt(&mut scopes, &sources);
        let owner = vec![(usize::MAX, 0); drawn.len()];
        Graph {
            graph,
            drawn,
            number,
            nodes: Nodes { paths: scopes, sources },
            operands,
            paths,
            titles,
            owner,
        }
    }

    fn level(&mut self, cx: &mut Graph<'m>, task: &Task, tasks: &mut Vec<Task>) {
        let (shared, drafts, parts) = match divide(&cx.nodes, &task.members, task.depth) {
            Division::Boxes { shared, drafts } => (shared, drafts, 0),
            Division::Parts(parts) => {
                let count = parts.len();
                let draft = |members| Draft { component: None, piece: 0, members };
                (Vec::new(), parts.into_iter().map(draft).collect(), count)
            }
        };
        let depth = task.depth + shared.len();
        self.extend_title(cx, task, &shared);
        for (index, draft) in drafts.into_iter().enumerate() {
            for &member in &draft.members {
                cx.owner[member as usize] = (task.level, index);
                self.places.insert(cx.drawn[member as usize], (task.level, index));
            }
            let item = match draft.members.as_slice() {
                &[member] => self.node(cx, member, (task.level, index)),
                _ => {
                    let title = match draft.component {
                        _ if parts > 0 => {
                            self.part_title(cx, depth, (task, &draft.members), (index + 1, parts))
                        }
                        Some(component) => Self::title(cx, component, &draft),
                        None => String::new(),
                    };
                    let deeper = depth + usize::from(draft.component.is_some());
                    let inside = self.inside((task.level, index));
                    let lines = self.summary(cx, &draft.members);
                    let nodes = draft.members.len();
                    tasks.push(Task {
                        level: inside,
                        members: draft.members,
                        depth: deeper,
                        is_outermost: false,
                        is_part: parts > 0,
                    });
                    Item {
                        kind: ItemKind::Group,
                        title,
                        lines,
                        inside: Some(inside),
                        nodes,
                        values: Vec::new(),
                    }
                }
            };
            self.levels[task.level].items.push(item);
        }
        Wires::new(self, cx, task).connect();
    }

    /// Adds scopes that are not boxes, as everything is in them, to the title of the box around them.
    fn extend_title(&mut self, cx: &Graph<'m>, task: &Task, shared: &[u32]) {
        // The title of a part has them.
        let is_extended = !task.is_outermost && !task.is_part;
        let Some((level, item)) = self.levels[task.level].parent.filter(|_| is_extended) else {
            return;
        };
        let Some(item) = self.levels.get_mut(level).and_then(|level| level.items.get_mut(item)) else {
            return;
        };
        for text in shared.iter().filter_map(|&component| cx.paths.texts.get(component as usize)) {
            item.title.push('/');
            item.title.push_str(&shortened(text, 24));
        }
    }

    /// What is in a part of a level, and its number: up to four scopes, `backbone, head (1 of 25)`, or the first and the last,
    /// `layer.0 … layer.7 (1 of 3)`; the first and the last node if most of its nodes are in no scope. What all of it is in comes
    /// before that, unless the whole picture is.
    fn part_title(
        &self,
        cx: &Graph<'m>,
        depth: usize,
        (task, members): (&Task, &[u32]),
        (number, count): (usize, usize),
    ) -> String {
        let scope = |&member: &u32| cx.nodes.paths[member as usize].get(depth..).unwrap_or_default();
        let shared = |members: &[u32]| {
            let first = members.first().map(scope).unwrap_or_default();
            let common = |other: &[u32]| first.iter().zip(other).take_while(|(a, b)| a == b).count();
            members.iter().map(|member| common(scope(member))).min().unwrap_or(0)
        };
        let text = |&component: &u32| {
            let title = cx.titles.get(&component).copied();
            title.or_else(|| cx.paths.texts.get(component as usize).copied()).unwrap_or_default()
        };
        let common = shared(members);
        let is_known = if task.is_outermost { shared(&task.members) } else { 0 };
        let mut title = String::new();
        let outer = members.first().map(scope).unwrap_or_default();
        for component in outer.iter().take(common).skip(is_known) {
            title.push_str(&shortened(text(component), 24));
            title.push('/');
        }
        let inner: Vec<&u32> = members.iter().filter_map(|member| scope(member).get(common)).collect();
        let mut seen = HashSet::new();
        let scopes: Vec<String> = inner
            .iter()
            .filter(|&&component| seen.insert(component))
            .map(|component| shortened(text(component), 16))
            .collect();
        let node = |member: Option<&u32>| {
            let record = self.model.node(cx.drawn[*member? as usize]);
            let own = self.model.str(record.name()).rsplit('/').find(|text| !text.is_empty());
            Some(shortened(own.unwrap_or(self.model.str(record.op())), 16))
        };
        let has_scopes = inner.len() * 2 >= members.len();
        let ends = match scopes.as_slice() {
            [first, .., last] if has_scopes && scopes.len() > MOST_NAMED => {
                [Some(first.clone()), Some(last.clone())]
            }
            _ => [node(members.first()), node(members.last())],
        };
        match (has_scopes, ends) {
            (true, _) if (1..=MOST_NAMED).contains(&scopes.len()) => title.push_str(&scopes.join(", ")),
            (_, [Some(first), Some(last)]) if first != last => {
                title.push_str(&first);
                title.push_str(" … ");
                title.push_str(&last);
            }
            (_, [first, _]) => title.push_str(&first.unwrap_or_default()),
        }
        format!("{title} ({number} of {count})")
    }

    /// An empty level in a box.
    fn inside(&mut self, parent: (LevelId, usize)) -> LevelId {
        self.levels.push(SceneLevel { parent: Some(parent), ..SceneLevel::default() });
        self.levels.len() - 1
    }

    fn title(cx: &Graph<'m>, component: u32, draft: &Draft) -> String {
        let title = cx.titles.get(&component).copied();
        let text =
            shown(title.or_else(|| cx.paths.texts.get(component as usize).copied()).unwrap_or_default());
        match draft.piece {
            0 => text,
            piece => format!("{text} ({piece})"),
        }
    }

    /// The number of nodes and the most frequent operators.
    fn summary(&self, cx: &Graph<'m>, members: &[u32]) -> Vec<String> {
        let mut counts: HashMap<_, (usize, u32)> = HashMap::new();
        for &member in members {
            let operator = self.model.node(cx.drawn[member as usize]).op();
            counts.entry(operator).or_insert((0, member)).0 += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|&(_, (count, first))| (std::cmp::Reverse(count), first));
        let names: Vec<String> =
            counts.iter().take(3).map(|&(operator, _)| shortened(self.model.str(operator), 16)).collect();
        let more = if counts.len() > 3 { ", …" } else { "" };
        vec![format!("{} nodes: {}{more}", members.len(), names.join(", "))]
    }

    fn node(&mut self, cx: &Graph<'m>, member: u32, place: (LevelId, usize)) -> Item {
        let node = cx.drawn[member as usize];
        let record = self.model.node(node);
        let domain = self.model.str(record.domain());
        let name = self.model.str(record.op());
        let title = if domain.is_empty() { shown(name) } else { shown(&format!("{domain}.{name}")) };
        let lines = self.weights(node);
        let inside = self.contents(node, place);
        Item { kind: ItemKind::Node(node), title, lines, inside, nodes: 1, values: Vec::new() }
    }

    /// The weights that a node uses, by the names of the operands.
    fn weights(&self, node: NodeId) -> Vec<String> {
        let record = self.model.node(node);
        let schema = match self.model.callee(node, self.options.registry) {
            onnx_ir::Callee::Standard(schema) => Some(schema),
            _ => None,
        };
        let weights = record.inputs().enumerate().filter_map(|(index, value)| {
            let value = value.filter(|&value| is_weight(self.model, value))?;
            let name = schema.and_then(|schema| schema.input_for(index)).map(|formal| formal.name);
            Some((name.unwrap_or("weight"), value))
        });
        let weights: Vec<(&str, ValueId)> = weights.collect();
        let line = |&(name, value): &(&str, ValueId)| {
            let name = shortened(name, 14);
            let text = elements(self.model, value)
                .unwrap_or_else(|| type_text(self.model, self.options.inference, value));
            format!("{name} {text}")
        };
        let mut lines: Vec<String> = weights.iter().take(MOST_WEIGHTS).map(line).collect();
        if weights.len() > MOST_WEIGHTS {
            lines.push(format!("{} more weights", weights.len() - MOST_WEIGHTS));
        }
        lines
    }

    /// The level of the graphs that are nested in a node, or of the body of the function that it calls.
    fn contents(&mut self, node: NodeId, place: (LevelId, usize)) -> Option<LevelId> {
        let model = self.model;
        let record = model.node(node);
        let graphs: Vec<(&str, GraphId)> = record
            .attributes()
            .iter()
            .flat_map(|attribute| {
                let name = model.str(attribute.name());
                attribute.value().graphs().iter().map(move |&graph| (name, graph))
            })
            .collect();
        match graphs.as_slice() {
            [] => {}
            &[(_, graph)] => {
                let level = self.inside(place);
                self.graphs.push_back((graph, level));
                return Some(level);
            }
            several => {
                let level = self.inside(place);
                for (index, &(name, graph)) in several.iter().enumerate() {
                    let inner = self.inside((level, index));
                    self.graphs.push_back((graph, inner));
                    let nodes = model.graph(graph).node_count();
                    self.levels[level].items.push(Item {
                        kind: ItemKind::Graph(graph),
                        title: shown(name),
                        lines: vec![format!("{nodes} nodes")],
                        inside: Some(inner),
                        nodes,
                        values: Vec::new(),
                    });
                }
                return Some(level);
            }
        }
        let onnx_ir::Callee::Function(function) = model.callee(node, self.options.registry) else {
            return None;
        };
        if let Some(&level) = self.bodies.get(function) {
            return Some(level);
        }
        let level = self.inside(place);
        self.bodies.insert(function, level);
        self.graphs.push_back((model.function(function).body(), level));
        Some(level)
    }

    /// Constants are at the place of their first user.
    fn place_constants(&mut self, cx: &Graph<'m>, graph: GraphId) {
        let nodes: Vec<NodeId> = self.model.nodes(graph).collect();
        for node in nodes.into_iter().rev().filter(|&node| !cx.number.contains_key(node)) {
            let outputs = self.model.node(node).outputs().iter().flatten();
            let users = outputs.flat_map(|&value| self.model.value(value).uses());
            let place = users.filter_map(|usage| self.places.get(usage.user.node()?).copied()).next();
            if let Some(place) = place {
                self.places.insert(node, place);
            }
        }
    }
}

/// What a node of a graph uses: its operands, names in attributes, and what its nested graphs capture.
fn operands(model: &Model, graph: GraphId, node: NodeId) -> Vec<(ValueId, u32)> {
    let record = model.node(node);
    let mut found: Vec<(ValueId, u32)> = record
        .inputs()
        .enumerate()
        .filter_map(|(index, value)| Some((value?, u32::try_from(index).unwrap_or(u32::MAX))))
        .collect();
    let count = record.input_count();
    found.extend(record.used_values().skip(found.len()).map(|value| (value, u32::MAX)));
    if record.attributes().iter().any(|attribute| !attribute.value().graphs().is_empty()) {
        let slot = u32::try_from(count).unwrap_or(u32::MAX);
        let inner = model.walk_node(node).nodes().filter(|&inner| inner != node);
        let used = inner.flat_map(|inner| model.node(inner).used_values());
        found.extend(used.filter(|&value| model.graph_of(value) == graph).map(|value| (value, slot)));
    }
    let mut seen = HashSet::new();
    found.retain(|&(value, _)| seen.insert(value) && !is_weight(model, value));
    found
}

/// The elements of a short weight: a tensor, or numbers that a `Constant` has in another attribute.
fn elements(model: &Model, value: ValueId) -> Option<String> {
    if let Some(tensor) = model.constant_tensor(value) {
        return elements_text(tensor);
    }
    let record = model.node(model.value(value).producer()?);
    let attribute = record.attributes().first().filter(|_| record.is(op::CONSTANT))?;
    let tensor = attribute.as_int().map(Tensor::scalar).or_else(|| attribute.as_float().map(Tensor::scalar));
    let tensor = tensor
        .or_else(|| attribute.as_ints().map(Tensor::vector))
        .or_else(|| attribute.as_floats().map(Tensor::vector));
    elements_text(&tensor?)
}

/// The initializer, or the result of a `Constant`, that a value is: itself, a copy of it, or the same in another number format.
/// Scenes show these values as weights of the nodes that use them, and not as boxes.
#[must_use]
pub fn stored_weight(model: &Model, value: ValueId) -> Option<ValueId> {
    let mut value = value;
    // Exporters share weights through one `Identity`, and store them in narrow formats.
    for _ in 0..4 {
        if model.value(value).initializer().is_some() {
            return Some(value);
        }
        let node = model.value(value).producer().filter(|&node| is_constant(model, node))?;
        let record = model.node(node);
        if record.is(op::CONSTANT) {
            return Some(value);
        }
        value = record.input(0)?;
    }
    None
}

fn is_weight(model: &Model, value: ValueId) -> bool {
    stored_weight(model, value).is_some()
}

/// Returns `true` for a node that makes a weight of its first operand, or without operands, if no graph returns its result.
fn is_constant(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let is_copy = record.is(op::IDENTITY) || record.is(op::CAST) || record.is(op::DEQUANTIZE_LINEAR);
    // The scale and the zero point of a weight are weights themselves.
    let has_weights = || {
        record.inputs().skip(1).flatten().all(|value| {
            let of = model.value(value);
            of.initializer().is_some()
                || of.producer().is_some_and(|maker| model.node(maker).is(op::CONSTANT))
        })
    };
    (record.is(op::CONSTANT) || (is_copy && has_weights()))
        && record.outputs().iter().flatten().all(|&value| {
            let uses = model.value(value).uses();
            !uses.is_empty() && !uses.iter().any(|usage| matches!(usage.user, User::Graph(_)))
        })
}

/// Returns `true` for a node that is not drawn, as its result is a weight of its users.
fn is_weight_node(model: &Model, node: NodeId) -> bool {
    is_constant(model, node)
        && model.node(node).outputs().iter().flatten().all(|&value| is_weight(model, value))
}
