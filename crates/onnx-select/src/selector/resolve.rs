//! The elements that selectors denote, and the selectors of elements.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::{Locus, LocusStep, Name};
use onnx_ir::{Def, FunctionId, GraphId, Model, NodeId, Owner, ValueId};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use super::{ElementSet, Refinement, Selector, SelectorFacts, SelectorScope};

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

impl Element {
    /// The node that stands for the element: itself, the one that produces the value, or the one that the graph is nested in.
    #[must_use]
    pub fn node(self, model: &Model) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Value(value) => model.value(value).producer(),
            Self::Graph(graph) => model.owner_node(graph),
        }
    }
}

/// The nodes and names of one graph.
#[derive(Default)]
pub(super) struct GraphIndex {
    pub(super) nodes: Vec<NodeId>,
    positions: HashMap<NodeId, usize, RandomState>,
    pub(super) values: HashMap<Symbol, Vec<ValueId>, RandomState>,
    pub(super) named: HashMap<Symbol, Vec<NodeId>, RandomState>,
    /// Values with names that a [`Name`] does not hold completely.
    long: HashMap<Name, Vec<ValueId>, RandomState>,
}

/// Resolves selectors of a model, and returns the selectors of its elements.
///
/// The names are indexed when they are needed for the first time, in time linear in the model.
///
/// ```
/// use onnx_ir::{Model, Position};
/// use onnx_schema::op;
/// use onnx_select::{Element, Selectors};
///
/// let mut model = Model::new();
/// let graph = model.main_graph();
/// let x = model.add_graph_input(graph, "x", None);
/// let node = model.build_at(Position::End(graph)).op(op::RELU, [x]).node()?;
/// let selectors = Selectors::new(&model);
/// assert_eq!(selectors.text(Element::Node(node)).as_deref(), Some("node(0)"));
/// let near = selectors.parse("near(x, 1)")?;
/// // An input stands for the nodes that use it.
/// assert_eq!(selectors.nodes(&near)?, [node]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Selectors<'a> {
    pub(super) model: &'a Model,
    pub(super) facts: Option<&'a dyn SelectorFacts>,
    pub(super) steps: u64,
    pub(super) has_functions: bool,
    graphs: OnceCell<SecondaryMap<GraphId, GraphIndex>>,
    /// The graphs that are selected in without the name of a graph.
    visible: OnceCell<Vec<GraphId>>,
    /// The graphs of these, in their order, that have a node or value of a name.
    homes: OnceCell<HashMap<Symbol, Vec<GraphId>, RandomState>>,
    /// The names in the main graph and the graphs nested in it.
    known: OnceCell<HashSet<Symbol, RandomState>>,
    /// The bodies of functions by their names; `None` if several functions have the name.
    bodies: OnceCell<HashMap<String, Option<GraphId>, RandomState>>,
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
        let steps = onnx_types::Limits::DEFAULT.selector_steps;
        Self {
            model,
            facts: None,
            steps,
            has_functions: false,
            graphs: OnceCell::new(),
            visible: OnceCell::new(),
            homes: OnceCell::new(),
            known: OnceCell::new(),
            bodies: OnceCell::new(),
        }
    }

    /// Also selects in the bodies of functions, where a selector does not name a graph.
    #[must_use]
    pub fn with_functions(mut self) -> Self {
        self.has_functions = true;
        (self.visible, self.homes) = (OnceCell::new(), OnceCell::new());
        self
    }

    /// Resolves selectors with what inference, the checker and the matcher return.
    #[must_use]
    pub const fn with_facts(mut self, facts: &'a dyn SelectorFacts) -> Self {
        self.facts = Some(facts);
        self
    }

    /// Sets the limits; of these, `selector_steps` counts.
    #[must_use]
    pub const fn with_limits(mut self, limits: &onnx_types::Limits) -> Self {
        self.steps = limits.selector_steps;
        self
    }

    pub(super) fn index(&self) -> &SecondaryMap<GraphId, GraphIndex> {
        self.graphs.get_or_init(|| {
            let mut index = SecondaryMap::new();
            for graph in self.model.all_graphs() {
                index.insert(graph, self.graph_index(graph));
            }
            index
        })
    }

    /// The graphs that are selected in where a selector names none, in the order of the model.
    pub(super) fn visible(&self) -> &[GraphId] {
        self.visible.get_or_init(|| self.find_visible())
    }

    /// Returns `true` if the main graph or a graph nested in it has a node or value of this name.
    pub(super) fn is_known(&self, name: Symbol) -> bool {
        let known = self.known.get_or_init(|| {
            let graphs = self.model.graphs_in(self.model.main_graph());
            let indexes = graphs.filter_map(|graph| self.index().get(graph));
            indexes.flat_map(|index| index.values.keys().chain(index.named.keys()).copied()).collect()
        });
        known.contains(&name)
    }

    /// The visible graphs that have a node or value of this name, in the order of the model.
    pub(super) fn homes(&self, name: Symbol) -> &[GraphId] {
        let homes = self.homes.get_or_init(|| {
            let mut homes: HashMap<Symbol, Vec<GraphId>, RandomState> = HashMap::default();
            for &graph in self.visible() {
                let Some(index) = self.index().get(graph) else { continue };
                for &name in index.values.keys().chain(index.named.keys()) {
                    let graphs = homes.entry(name).or_default();
                    if graphs.last() != Some(&graph) {
                        graphs.push(graph);
                    }
                }
            }
            homes
        });
        homes.get(&name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The body of the function of a name; `Some(None)` if there are several.
    pub(super) fn body(&self, name: &str) -> Option<Option<GraphId>> {
        let bodies = self.bodies.get_or_init(|| {
            let mut bodies: HashMap<String, Option<GraphId>, RandomState> = HashMap::default();
            for &function in self.model.functions() {
                let function = self.model.function(function);
                let parts = [function.domain(), function.name(), function.overload()];
                let name = function_name(parts.map(|part| self.model.str(part)));
                bodies.entry(name).and_modify(|body| *body = None).or_insert(Some(function.body()));
            }
            bodies
        });
        bodies.get(name).copied()
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

    /// The selector of an element as text. It resolves to exactly this element. `None` if no such selector exists: for
    /// values that share their name with another output of the same node or another input of the same graph, for graphs of
    /// training steps and of functions' attribute defaults, and for texts beyond 4 KiB or 80 levels of nesting.
    #[must_use]
    pub fn text(&self, element: Element) -> Option<String> {
        let denotes = |selector: &Selector| {
            let text = self.unambiguous(selector)?;
            let parsed = self.parse(&text).ok()?;
            let is_exact = match element {
                Element::Node(node) => self.nodes(&parsed).ok()? == [node],
                Element::Value(value) => self.values(&parsed).ok()? == [value],
                Element::Graph(_) => self.elements(&parsed).ok()? == [element],
            };
            is_exact.then_some(text)
        };
        if let Some(text) = denotes(&self.selector(element)?) {
            return Some(text);
        }
        let Element::Value(value) = element else { return None };
        self.indirect(value).iter().find_map(denotes)
    }

    /// The text of a selector; a name can look like it, and parentheses tell them apart.
    fn unambiguous(&self, selector: &Selector) -> Option<String> {
        let mut text = selector.to_string();
        let is_word = |text: &str| matches!(selector, Selector::Name(_)) && !text.starts_with(['"', '(']);
        while !is_word(&text) && self.model.names().get(&text).is_some() {
            text = format!("({text})");
        }
        (text.len() <= MAX_TEXT).then_some(text)
    }

    fn selector(&self, element: Element) -> Option<Selector> {
        let model = self.model;
        let (graph, inner) = match element {
            Element::Graph(graph) => return self.scope(graph).map(Selector::Graph),
            Element::Node(node) => (model.node(node).graph(), self.at_index(node)?),
            Element::Value(value) => {
                let name = model.str(model.value(value).name()).to_owned();
                (model.graph_of(value), Selector::Name(name))
            }
        };
        self.within(graph, inner)
    }

    /// `node(K)`, in its graph.
    fn at_index(&self, node: NodeId) -> Option<Selector> {
        let graph = self.model.node(node).graph();
        self.index().get(graph)?.positions.get(&node).map(|&index| Selector::Node(index))
    }

    fn within(&self, graph: GraphId, inner: Selector) -> Option<Selector> {
        if graph == self.model.main_graph() {
            return Some(inner);
        }
        Some(Selector::In(self.scope(graph)?, Box::new(inner)))
    }

    /// Selectors of a value that its name does not suffice for: by what defines it, and then also by its name.
    fn indirect(&self, value: ValueId) -> Vec<Selector> {
        let model = self.model;
        let record = model.value(value);
        let (graph, definition) = match record.def() {
            Def::Output { node, .. } => (model.node(node).graph(), self.at_index(node)),
            Def::Input { graph, .. } => (graph, Some(Selector::Set(ElementSet::Inputs))),
            Def::Initializer(graph) => (graph, Some(Selector::Set(ElementSet::Weights))),
            Def::Unresolved(graph) => (graph, None),
        };
        let Some(definition) = definition else { return Vec::new() };
        let name = Selector::Name(model.str(record.name()).to_owned());
        let named = Selector::Refined(Box::new(definition.clone()), vec![(Refinement::And, name)]);
        [definition, named].into_iter().filter_map(|selector| self.within(graph, selector)).collect()
    }

    fn scope(&self, graph: GraphId) -> Option<SelectorScope> {
        let model = self.model;
        match model.graph(graph).owner() {
            Owner::Model => Some(SelectorScope::Main),
            Owner::Node(node) => {
                let found = model.node(node).attributes().iter().find_map(|attribute| {
                    let index = attribute.value().graphs().iter().position(|&nested| nested == graph)?;
                    Some((model.str(attribute.name()).to_owned(), index))
                });
                let (attribute, index) = found?;
                Some(SelectorScope::Body {
                    node: Box::new(self.selector(Element::Node(node))?),
                    attribute,
                    index,
                })
            }
            Owner::Function(function) => {
                let function = model.function(function);
                let parts = [function.domain(), function.name(), function.overload()];
                let name = function_name(parts.map(|part| model.str(part)));
                (function.body() == graph).then_some(SelectorScope::Function(name))
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
                LocusStep::TrainingInfo { .. } => return None,
                LocusStep::Function { domain, name, overload } => {
                    let [domain, name, overload] =
                        [domain, name, overload].map(|part| model.names().get(part.as_str()));
                    let function = model.find_function(domain?, name?, overload?)?;
                    graph = Some(model.function(function).body());
                }
                LocusStep::Graph { .. } if graph.is_none() => graph = Some(model.main_graph()),
                LocusStep::Graph { .. } => {
                    let name: Option<&Name> = attribute.take();
                    let name = model.names().get(name?.as_str())?;
                    let graphs = model.node(node?).attribute(name)?.value().graphs();
                    graph = Some(*graphs.get(index)?);
                    (node, value, index) = (None, None, 0);
                }
                LocusStep::Node { index, .. } => {
                    let graph = *graph.get_or_insert(model.main_graph());
                    node = Some(*self.index().get(graph)?.nodes.get(*index)?);
                }
                LocusStep::Attribute { name } => attribute = Some(name),
                LocusStep::Element { index: at } => index = *at,
                LocusStep::Input { index, .. } if node.is_none() => {
                    value = Some(*model.graph(graph?).inputs().get(*index)?);
                }
                LocusStep::Output { index, .. } if node.is_none() => {
                    value = Some(model.graph(graph?).outputs().get(*index)?.value());
                }
                LocusStep::Initializer { name }
                | LocusStep::SparseInitializer { name }
                | LocusStep::Value { name }
                | LocusStep::ValueInfo { name }
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
pub(super) fn function_name([domain, name, overload]: [&str; 3]) -> String {
    let dot = if domain.is_empty() { "" } else { "." };
    let colon = if overload.is_empty() { "" } else { ":" };
    format!("{domain}{dot}{name}{colon}{overload}")
}

/// Elements, each once.
pub(super) fn unique(elements: Vec<Element>) -> Vec<Element> {
    if elements.len() < 2 {
        return elements;
    }
    let mut seen: HashSet<Element, RandomState> = HashSet::default();
    elements.into_iter().filter(|&element| seen.insert(element)).collect()
}

/// That a model has no function of a name, with the names that it has.
pub(super) fn no_such_function(model: &Model) -> String {
    const MOST: usize = 5;
    let name = |&function: &FunctionId| {
        let function = model.function(function);
        let [domain, name] = [function.domain(), function.name()].map(|part| model.str(part).escape_debug());
        let dot = if function.domain().is_empty() { "" } else { "." };
        format!("`{domain}{dot}{name}`")
    };
    let functions = model.functions();
    let names: Vec<String> = functions.iter().take(MOST).map(name).collect();
    match functions.len().saturating_sub(MOST) {
        _ if names.is_empty() => "the model has no functions".to_owned(),
        0 => format!("the model has no such function; it has {}", names.join(", ")),
        more => format!("the model has no such function; it has {} and {more} more", names.join(", ")),
    }
}
