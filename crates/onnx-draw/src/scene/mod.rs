//! A model as boxes in boxes.

mod build;
mod divide;
mod paths;
#[cfg(test)]
mod tests;

pub use build::stored_weight;

use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::Inference;
use slotmap::SecondaryMap;

use crate::layout::{Block, BoxLayout, Link, Pin, Size, layout};
use crate::text::text_width;

/// Boxes that a level has at most, without inputs and outputs.
pub const MAX_BOXES: usize = 50;

/// Index of a [`SceneLevel`] in its scene.
pub type LevelId = usize;

/// A box among the open ones: the index of an item of the root level, then of an item in it, and so on.
pub type Path = Vec<u32>;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemKind {
    /// A node.
    Node(NodeId),
    /// Several nodes.
    Group,
    /// A nested graph of a node.
    Graph(GraphId),
    /// Inputs of the graph.
    Input,
    /// Outputs of the graph.
    Output,
    /// Values that come from outside of the box.
    Arriving,
    /// Values that are used outside of the box.
    Leaving,
}

impl ItemKind {
    /// Returns `true` for values that cross the border of a level.
    #[must_use]
    pub const fn is_port(self) -> bool {
        matches!(self, Self::Arriving | Self::Leaving)
    }

    /// Returns `true` for nodes, groups and graphs.
    #[must_use]
    pub const fn is_box(self) -> bool {
        matches!(self, Self::Node(_) | Self::Group | Self::Graph(_))
    }
}

/// A box of a level. All texts are escaped.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item {
    /// What it stands for.
    pub kind: ItemKind,
    /// The first line.
    pub title: String,
    /// Further lines.
    pub lines: Vec<String>,
    /// The level inside of it, if it can be opened.
    pub inside: Option<LevelId>,
    /// Number of nodes of the graph in it.
    pub nodes: usize,
    /// The values of an input, an output or a port.
    pub values: Vec<ValueId>,
}

/// Values that go from one box of a level to another one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edge {
    /// Index of the box that makes them.
    pub from: usize,
    /// Index of the box that uses them.
    pub to: usize,
    /// The values, in the order of their uses.
    pub values: Vec<ValueId>,
    /// The first operand that one of them is.
    pub slot: u32,
    /// Edges of one box with the same first value have the same number.
    pub trunk: u32,
    /// The type of its value, or the number of values; `None` if another edge that begins at the same place has the label.
    pub label: Option<String>,
}

/// The inside of a box, or the whole graph.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SceneLevel {
    /// The boxes.
    pub items: Vec<Item>,
    /// The edges between them.
    pub edges: Vec<Edge>,
    /// The first level and box that contain it.
    pub parent: Option<(LevelId, usize)>,
}

/// Nodes that the caller wants to see as one box.
#[derive(Clone, Debug)]
pub struct Group {
    /// The title.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<NodeId>,
}

/// Options of [`Scene::new`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SceneOptions<'a> {
    /// The types of values. Without it, declared types are shown.
    pub inference: Option<&'a Inference>,
    /// The graph; by default the main graph.
    pub graph: Option<GraphId>,
    /// The nodes of the graph that are shown; by default all.
    pub nodes: Option<&'a [NodeId]>,
    /// Boxes for nodes that have no scope, such as repeated blocks.
    pub groups: &'a [Group],
    /// The operators that are known.
    pub registry: &'a Registry,
}

impl Default for SceneOptions<'_> {
    fn default() -> Self {
        Self { inference: None, graph: None, nodes: None, groups: &[], registry: Registry::STANDARD }
    }
}

onnx_types::option_setters! {
    SceneOptions<'a> {
        with_inference => inference: Option<&'a Inference>,
        with_graph => graph: Option<GraphId>,
        with_nodes => nodes: Option<&'a [NodeId]>,
        with_groups => groups: &'a [Group],
        with_registry => registry: &'a Registry,
    }
}

impl std::fmt::Debug for SceneOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SceneOptions").field("graph", &self.graph).finish_non_exhaustive()
    }
}

/// A model as boxes in boxes: see the [crate](crate).
#[derive(Clone)]
pub struct Scene {
    pub(crate) levels: Vec<SceneLevel>,
    places: SecondaryMap<NodeId, (LevelId, usize)>,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene").field("levels", &self.levels.len()).finish_non_exhaustive()
    }
}

/// Height of the title of a box.
pub(crate) const TITLE: f64 = 24.0;
/// Height of a further line.
pub(crate) const LINE: f64 = 14.0;
/// Size of the title.
pub(crate) const TITLE_FONT: f64 = 12.5;
/// Size of the other texts.
pub(crate) const SMALL_FONT: f64 = 10.5;
/// The place on the side of an open box where an edge ends, or begins if the flag is set, from the middle of the box.
pub(crate) type PortPlace<'a> = dyn Fn(usize, (&Edge, bool)) -> Option<f64> + 'a;

/// Width up to which a box becomes wider for the labels of its edges.
const WIDEST_FOR_LABELS: f64 = 560.0;
/// Space between labels, and at both ends of them.
const LABEL_GAP: f64 = 10.0;
const LABEL_ENDS: f64 = 12.0;

/// The width of a label, if that many are side by side.
pub(crate) fn label_room(count: usize) -> f64 {
    (WIDEST_FOR_LABELS - LABEL_ENDS) / count.max(1) as f64 - LABEL_GAP
}

impl Scene {
    /// Builds the scene of a model, in time linear in the model and the depth of its scopes.
    ///
    /// # Panics
    ///
    /// Panics if a graph or node of the options is not of this model.
    #[must_use]
    pub fn new(model: &Model, options: &SceneOptions<'_>) -> Self {
        let (levels, places) = build::levels(model, options);
        Self { levels, places }
    }

    /// The outermost level.
    #[must_use]
    pub const fn root(&self) -> LevelId {
        0
    }

    /// Number of levels.
    #[must_use]
    pub const fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// A level; `None` if the scene does not have it.
    #[must_use]
    pub fn level(&self, level: LevelId) -> Option<&SceneLevel> {
        self.levels.get(level)
    }

    /// The level and the innermost box of a node, which is that of a user for a constant; `None` if it is not shown.
    #[must_use]
    pub fn place(&self, node: NodeId) -> Option<(LevelId, usize)> {
        self.places.get(node).copied()
    }

    /// The path to a box: the boxes that must be open, and the box itself.
    #[must_use]
    pub fn path(&self, (level, item): (LevelId, usize)) -> Path {
        let mut path = vec![u32::try_from(item).unwrap_or(u32::MAX)];
        let mut next = self.levels.get(level).and_then(|level| level.parent);
        // The first parents form a tree, so the number of levels bounds the path.
        while let Some((level, item)) = next {
            path.push(u32::try_from(item).unwrap_or(u32::MAX));
            next = self.levels.get(level).and_then(|level| level.parent);
        }
        path.reverse();
        path
    }

    /// The size of a closed box, with the distance of its edges.
    pub(crate) fn closed_size(&self, item: &Item, labels: &[f64]) -> (Size, f64) {
        if item.kind.is_port() {
            let widest = labels.iter().copied().fold(0.0, f64::max);
            return (Size { width: widest.max(8.0), height: 8.0 }, widest);
        }
        let lines = item.lines.iter().map(|line| text_width(line, SMALL_FONT));
        let marker = if item.inside.is_some() { 18.0 } else { 0.0 };
        let text = lines.fold(text_width(&item.title, TITLE_FONT) + marker, f64::max);
        let gap = labels.iter().copied().fold(0.0, f64::max) + LABEL_GAP;
        let needed = (gap * labels.len() as f64 + LABEL_ENDS).min(WIDEST_FOR_LABELS);
        let width = (text + 22.0).max(52.0).max(if labels.is_empty() { 0.0 } else { needed }).ceil();
        let lines = item.lines.len() as f64;
        (Size { width, height: TITLE + lines * LINE + if lines > 0.0 { 5.0 } else { 2.0 } }, gap)
    }

    /// The nodes of the graph in a box, in order; those in nested graphs and functions are not listed.
    #[must_use]
    pub fn nodes_in(&self, level: LevelId, item: usize) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let mut left = vec![(level, item)];
        while let Some((level, item)) = left.pop() {
            let Some(item) = self.levels.get(level).and_then(|level| level.items.get(item)) else { continue };
            match (item.kind, item.inside) {
                (ItemKind::Node(node), _) => nodes.push(node),
                (ItemKind::Group, Some(inside)) => {
                    left.extend((0..self.levels[inside].items.len()).rev().map(|item| (inside, item)));
                }
                _ => {}
            }
        }
        nodes
    }

    /// Lays out a level with all boxes closed.
    #[must_use]
    pub fn layout(&self, level: LevelId) -> (BoxLayout, Vec<Size>) {
        let none = |_: usize| None;
        self.layout_with(level, &none, &|_, _| None)
    }

    /// Lays out a level, with the sizes of open boxes and the places where edges of open boxes begin and end.
    pub(crate) fn layout_with(
        &self,
        level: LevelId,
        open_size: &dyn Fn(usize) -> Option<Size>,
        port: &PortPlace<'_>,
    ) -> (BoxLayout, Vec<Size>) {
        let Some(level) = self.levels.get(level) else { return Default::default() };
        let mut widths: Vec<Vec<f64>> = vec![Vec::new(); level.items.len()];
        for edge in &level.edges {
            widths[edge.from].extend(edge.label.iter().map(|label| text_width(label, SMALL_FONT)));
        }
        let blocks: Vec<Block> = level
            .items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let (closed, start_gap) = self.closed_size(item, &widths[index]);
                let pin = match item.kind {
                    ItemKind::Arriving => Pin::First,
                    ItemKind::Leaving => Pin::Last,
                    _ => Pin::Free,
                };
                let is_ordered = matches!(item.kind, ItemKind::Node(_));
                let size = open_size(index)
                    .map_or(closed, |open| Size { width: open.width.max(closed.width), height: open.height });
                Block { size, pin, is_ordered, start_gap }
            })
            .collect();
        let from_left = |item: usize, place: Option<f64>| Some(place? + blocks.get(item)?.size.width / 2.0);
        let links: Vec<Link> = level
            .edges
            .iter()
            .map(|edge| Link {
                from: edge.from,
                to: edge.to,
                slot: edge.slot,
                trunk: edge.trunk,
                from_x: from_left(edge.from, port(edge.from, (edge, true))),
                to_x: from_left(edge.to, port(edge.to, (edge, false))),
            })
            .collect();
        let sizes = blocks.iter().map(|block| block.size).collect();
        (layout(&blocks, &links), sizes)
    }
}
