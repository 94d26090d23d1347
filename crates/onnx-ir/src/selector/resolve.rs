//! The elements that selectors denote, and the selectors of elements.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::{Locus, Name, Step};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use super::{Scope, Selector, SelectorError};
use crate::{Def, GraphId, Model, NodeId, Owner, ValueId};

/// Maximum length in bytes of a selector that [`Selectors::text`] returns.
const MAX_TEXT: usize = 4096;

/// An element of a model that a selector denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A graph.
    Graph(GraphId),
    /// A node.
    Node(NodeId),
    /// A value.
    Value(ValueId),
}

/// The nodes and names of one graph.
#[derive(Default)]
struct GraphIndex {
    nodes: Vec<NodeId>,
    positions: HashMap<NodeId, usize, RandomState>,
    values: HashMap<Symbol, Vec<ValueId>, RandomState>,
    named: HashMap<Symbol, Vec<NodeId>, RandomState>,
    /// Values with names that a [`Name`] does not hold completely.
    long: HashMap<Name, Vec<ValueId>, RandomState>,
}

/// Resolves selectors of a model, and returns the selectors of its elements.
///
/// The names are indexed when they are needed for the first time, in time linear in the model.
///
/// ```
/// use onnx_ir::{Element, Model, Position, Selectors};
/// use onnx_schema::op;
///
/// let mut model = Model::new();
/// let graph = model.main_graph();
/// let x = model.add_graph_input(graph, "x", None);
/// let node = model.build_at(Position::End(graph)).op(op::RELU, [x]).node()?;
/// let selectors = Selectors::new(&model);
/// assert_eq!(selectors.text(Element::Node(node)).as_deref(), Some("node(0)"));
/// let near = selectors.parse("near(x, 1)")?;
/// assert_eq!(selectors.nodes(&near), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Selectors<'a> {
    model: &'a Model,
    graphs: OnceCell<SecondaryMap<GraphId, GraphIndex>>,
}

impl fmt::Debug for Selectors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selectors").finish_non_exhaustive()
    }
}

impl<'a> Selectors<'a> {
    /// The selectors of a model.
    #[must_use]
    pub const fn new(model: &'a Model) -> Self {
        Self { model, graphs: OnceCell::new() }
    }

    fn index(&self) -> &SecondaryMap<GraphId, GraphIndex> {
        self.graphs.get_or_init(|| {
            let mut index = SecondaryMap::new();
            for graph in self.model.all_graphs() {
                index.insert(graph, self.graph_index(graph));
            }
            index
        })
    }

    fn graph_index(&self, graph: GraphId) -> GraphIndex {
        let model = self.model;
        let mut index = GraphIndex::default();
        let mut values = model.graph(graph).inputs().to_vec();
        // An initializer may be the default of an input.
        let is_input = |value: ValueId| matches!(model.value(value).def(), Def::Input { .. });
        values.extend(model.initializers(graph).filter(|&value| !is_input(value)));
        for node in model.nodes(graph) {
            index.positions.insert(node, index.nodes.len());
            index.nodes.push(node);
            let record = model.node(node);
            values.extend(record.outputs().iter().flatten());
            index.named.entry(record.name()).or_default().push(node);
        }
        for value in values {
            let name = model.value(value).name();
            index.values.entry(name).or_default().push(value);
            let cut = Name::new(model.str(name));
            if cut.is_cut() {
                index.long.entry(cut).or_default().push(value);
            }
        }
        index
    }

    /// Parses a selector. A complete text that equals a name is this name.
    ///
    /// # Errors
    ///
    /// If the text is not a selector.
    pub fn parse(&self, text: &str) -> Result<Selector, SelectorError> {
        let name = Selector::Name(text.to_owned());
        if !text.is_empty() && !self.elements(&name).is_empty() {
            return Ok(name);
        }
        Selector::parse(text)
    }

    /// The nodes that a selector denotes, those of one graph in the order of the file.
    #[must_use]
    pub fn nodes(&self, selector: &Selector) -> Vec<NodeId> {
        let (mut nodes, mut produced) = (Vec::new(), Vec::new());
        for element in self.elements(selector) {
            match element {
                Element::Node(node) => nodes.push(node),
                Element::Value(value) => produced.extend(self.model.value(value).producer()),
                Element::Graph(_) => {}
            }
        }
        if nodes.is_empty() { produced } else { nodes }
    }

    /// The values that a selector denotes.
    #[must_use]
    pub fn values(&self, selector: &Selector) -> Vec<ValueId> {
        let (mut values, mut made) = (Vec::new(), Vec::new());
        for element in self.elements(selector) {
            match element {
                Element::Value(value) => values.push(value),
                Element::Node(node) => made.extend(self.model.node(node).outputs().iter().flatten()),
                Element::Graph(_) => {}
            }
        }
        if values.is_empty() { made } else { values }
    }

    /// Everything that a selector denotes: the values and the nodes of a name, nodes, or one graph.
    #[must_use]
    pub fn elements(&self, selector: &Selector) -> Vec<Element> {
        match selector {
            Selector::Name(name) => {
                let graphs = self.model.graphs_in(self.model.main_graph());
                // The main graph precedes the graphs nested in it.
                let main = self.named(self.model.main_graph(), name);
                if main.is_empty() {
                    graphs.flat_map(|graph| self.named(graph, name)).collect()
                } else {
                    main
                }
            }
            Selector::In(scope, inner) => match (self.graph(scope), &**inner) {
                (Some(graph), Selector::Name(name)) => self.named(graph, name),
                (Some(graph), &Selector::Node(index)) => self.at(graph, index).into_iter().collect(),
                (Some(graph), inner) => {
                    let model = self.model;
                    let mut elements = self.elements(inner);
                    elements.retain(|element| match *element {
                        Element::Graph(_) => false,
                        Element::Node(node) => model.node(node).graph() == graph,
                        Element::Value(value) => model.graph_of(value) == graph,
                    });
                    elements
                }
                (None, _) => Vec::new(),
            },
            &Selector::Node(index) => self.at(self.model.main_graph(), index).into_iter().collect(),
            Selector::Near(inner, distance) => self.near(self.nodes(inner), *distance),
            Selector::Graph(scope) => self.graph(scope).map(Element::Graph).into_iter().collect(),
        }
    }

    /// The graph that a scope denotes; `None` if there is none or more than one.
    #[must_use]
    pub fn graph(&self, scope: &Scope) -> Option<GraphId> {
        let model = self.model;
        match scope {
            Scope::Main => Some(model.main_graph()),
            Scope::Body { node, attribute, index } => {
                let nodes = self.nodes(node);
                let [node] = nodes.as_slice() else { return None };
                let name = model.names().get(attribute)?;
                model.node(*node).attribute(name)?.value().graphs().get(*index).copied()
            }
            Scope::Function(name) => {
                let functions = model.functions().iter().map(|&function| model.function(function));
                let mut found = functions.filter(|function| {
                    let parts = [function.domain(), function.name(), function.overload()];
                    function_name(parts.map(|part| model.str(part))) == *name
                });
                let first = found.next()?;
                found.next().is_none().then(|| first.body())
            }
        }
    }

    fn at(&self, graph: GraphId, index: usize) -> Option<Element> {
        self.index().get(graph)?.nodes.get(index).copied().map(Element::Node)
    }

    /// The values and nodes of a graph with a name.
    fn named(&self, graph: GraphId, name: &str) -> Vec<Element> {
        let Some(name) = self.model.names().get(name).filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        let Some(index) = self.index().get(graph) else { return Vec::new() };
        let values = index.values.get(&name).into_iter().flatten().map(|&value| Element::Value(value));
        values.chain(index.named.get(&name).into_iter().flatten().map(|&node| Element::Node(node))).collect()
    }

    /// The nodes at most `distance` edges away, in the order of the file.
    fn near(&self, start: Vec<NodeId>, distance: usize) -> Vec<Element> {
        let model = self.model;
        let mut seen: SecondaryMap<NodeId, ()> = start.iter().map(|&node| (node, ())).collect();
        let mut graphs: Vec<GraphId> = Vec::new();
        for &node in &start {
            let graph = model.node(node).graph();
            if !graphs.contains(&graph) {
                graphs.push(graph);
            }
        }
        let mut front = start;
        for _ in 0..distance {
            let mut next = Vec::new();
            for node in front {
                let record = model.node(node);
                let producers = record.inputs().flatten().filter_map(|value| model.value(value).producer());
                let consumers = record.outputs().iter().flatten().flat_map(|&value| model.consumers(value));
                next.extend(producers.chain(consumers).filter(|&other| {
                    model.node(other).graph() == record.graph() && seen.insert(other, ()).is_none()
                }));
            }
            if next.is_empty() {
                break;
            }
            front = next;
        }
        let nodes = graphs.into_iter().flat_map(|graph| model.nodes(graph));
        nodes.filter(|&node| seen.contains_key(node)).map(Element::Node).collect()
    }

    /// The selector of an element as text. It resolves to exactly this element. `None` if there is no such selector: for
    /// values without a unique name, graphs of training steps and of functions' attribute defaults, and texts beyond 4 KiB.
    #[must_use]
    pub fn text(&self, element: Element) -> Option<String> {
        let selector = self.selector(element)?;
        let mut text = selector.to_string();
        if text.len() > MAX_TEXT {
            return None;
        }
        // A name can look like a selector; parentheses tell them apart.
        let is_word = |text: &str| matches!(selector, Selector::Name(_)) && !text.starts_with(['"', '(']);
        while !is_word(&text) && self.model.names().get(&text).is_some() {
            text = format!("({text})");
        }
        let parsed = self.parse(&text).ok()?;
        let denotes = match element {
            Element::Node(node) => self.nodes(&parsed) == [node],
            Element::Value(value) => self.values(&parsed) == [value],
            Element::Graph(_) => self.elements(&parsed) == [element],
        };
        denotes.then_some(text)
    }

    fn selector(&self, element: Element) -> Option<Selector> {
        let model = self.model;
        let (graph, inner) = match element {
            Element::Graph(graph) => return self.scope(graph).map(Selector::Graph),
            Element::Node(node) => {
                let graph = model.node(node).graph();
                (graph, Selector::Node(*self.index().get(graph)?.positions.get(&node)?))
            }
            Element::Value(value) => {
                let name = model.str(model.value(value).name()).to_owned();
                (model.graph_of(value), Selector::Name(name))
            }
        };
        if graph == model.main_graph() {
            return Some(inner);
        }
        Some(Selector::In(self.scope(graph)?, Box::new(inner)))
    }

    fn scope(&self, graph: GraphId) -> Option<Scope> {
        let model = self.model;
        match model.graph(graph).owner() {
            Owner::Model => Some(Scope::Main),
            Owner::Node(node) => {
                let found = model.node(node).attributes().iter().find_map(|attribute| {
                    let index = attribute.value().graphs().iter().position(|&nested| nested == graph)?;
                    Some((model.str(attribute.name()).to_owned(), index))
                });
                let (attribute, index) = found?;
                Some(Scope::Body { node: Box::new(self.selector(Element::Node(node))?), attribute, index })
            }
            Owner::Function(function) => {
                let function = model.function(function);
                let parts = [function.domain(), function.name(), function.overload()];
                let name = function_name(parts.map(|part| model.str(part)));
                (function.body() == graph).then_some(Scope::Function(name))
            }
            Owner::Detached | Owner::Initialization | Owner::Algorithm => None,
        }
    }

    /// The element that a place is in: its innermost node, else the value, else the graph. `None` for the model itself and
    /// for places that are not in the model.
    #[must_use]
    pub fn element(&self, locus: &Locus) -> Option<Element> {
        let model = self.model;
        let mut graph = None;
        let (mut node, mut value) = (None, None);
        let (mut attribute, mut index) = (None, 0);
        for step in locus.steps() {
            match step {
                Step::TrainingInfo { .. } => return None,
                Step::Function { domain, name, overload } => {
                    let [domain, name, overload] =
                        [domain, name, overload].map(|part| model.names().get(part.as_str()));
                    let function = model.find_function(domain?, name?, overload?)?;
                    graph = Some(model.function(function).body());
                }
                Step::Graph { .. } if graph.is_none() => graph = Some(model.main_graph()),
                Step::Graph { .. } => {
                    let name: Option<&Name> = attribute.take();
                    let name = model.names().get(name?.as_str())?;
                    let graphs = model.node(node?).attribute(name)?.value().graphs();
                    graph = Some(*graphs.get(index)?);
                    (node, value, index) = (None, None, 0);
                }
                Step::Node { index, .. } => {
                    let graph = *graph.get_or_insert(model.main_graph());
                    node = Some(*self.index().get(graph)?.nodes.get(*index)?);
                }
                Step::Attribute { name } => attribute = Some(name),
                Step::Element { index: at } => index = *at,
                Step::Input { index, .. } if node.is_none() => {
                    value = Some(*model.graph(graph?).inputs().get(*index)?);
                }
                Step::Output { index, .. } if node.is_none() => {
                    value = Some(model.graph(graph?).outputs().get(*index)?.value());
                }
                Step::Initializer { name }
                | Step::SparseInitializer { name }
                | Step::Value { name }
                | Step::ValueInfo { name }
                    if node.is_none() =>
                {
                    value = Some(self.sole(graph?, name)?);
                }
                _ => {}
            }
        }
        let value = value.map(Element::Value).or(graph.map(Element::Graph));
        node.map(Element::Node).or(value)
    }

    /// The derivation of the node that a place is in, or that makes its value: `` made by inline from `Scale` (`s`) and `Mul` ``.
    /// `None` if no pass made it. Passed to [`Sink::add_notes`](onnx_diag::Sink::add_notes), it lets a diagnostic in inlined
    /// code name the call and the node of the function.
    #[must_use]
    pub fn derivation_of_locus(&self, locus: &Locus) -> Option<String> {
        let node = match self.element(locus)? {
            Element::Node(node) => node,
            Element::Value(value) => self.model.value(value).producer()?,
            Element::Graph(graph) => self.model.owner_node(graph)?,
        };
        self.model.derivation_text(node)
    }

    /// The only value of a graph with a name that may have been cut.
    fn sole(&self, graph: GraphId, name: &Name) -> Option<ValueId> {
        let index = self.index().get(graph)?;
        let values = if name.is_cut() {
            index.long.get(name)
        } else {
            index.values.get(&self.model.names().get(name.as_str())?)
        };
        match values?.as_slice() {
            &[value] => Some(value),
            _ => None,
        }
    }

    /// The selector of the element that a place is in.
    #[must_use]
    pub fn of_locus(&self, locus: &Locus) -> Option<String> {
        if locus.steps().is_empty() {
            return None;
        }
        self.text(self.element(locus)?)
    }
}

/// `domain.name:overload`.
fn function_name([domain, name, overload]: [&str; 3]) -> String {
    let dot = if domain.is_empty() { "" } else { "." };
    let colon = if overload.is_empty() { "" } else { ":" };
    format!("{domain}{dot}{name}{colon}{overload}")
}
