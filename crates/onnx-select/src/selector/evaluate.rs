//! The elements that selectors denote.

use std::cell::Cell;
use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Glob, GraphId, MetadataEntry, NodeId, Owner, ValueId, metadata_value};
use slotmap::SecondaryMap;

use super::flow::Budget;
use super::resolve::{Element, no_such_function, unique};
use super::{
    Direction, ElementSet, Refinement, Selector, SelectorError, SelectorFacts, SelectorScope, Selectors,
    TextPattern, ValueFact,
};

type Result<T> = std::result::Result<T, SelectorError>;

/// Which elements are expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Nodes,
    Values,
    /// Values that no node produces: inputs, initializers and names that nothing defines.
    Sources,
    /// Those that a selector denotes without a conversion.
    Any,
}

/// The graphs in which a selector is resolved.
#[derive(Clone, Copy, Debug)]
enum Universe {
    /// The main graph and those nested in it.
    Visible,
    One(GraphId),
}

impl Selectors<'_> {
    /// Parses a selector. A complete text that equals a name is this name.
    ///
    /// # Errors
    ///
    /// If the text is not a selector.
    pub fn parse(&self, text: &str) -> Result<Selector> {
        let name = self.model.names().get(text).filter(|name| !name.is_empty());
        let is_name = name.is_some_and(|name| self.is_known(name));
        if is_name { Ok(Selector::Name(text.to_owned())) } else { Selector::parse(text) }
    }

    /// The nodes that a selector denotes, each once. Those of a name, a pattern or a function are in the order of the file; those
    /// of a union in the order of its terms.
    ///
    /// # Errors
    ///
    /// If a part of the selector needs [facts](SelectorFacts) that are not there, or more steps than the limit, or denotes no
    /// graph where one is needed.
    pub fn nodes(&self, selector: &Selector) -> Result<Vec<NodeId>> {
        self.evaluate(selector, Kind::Nodes).map(of_nodes)
    }

    /// The values that a selector denotes, each once, in the order of [`nodes`](Self::nodes).
    ///
    /// # Errors
    ///
    /// As for [`nodes`](Self::nodes).
    pub fn values(&self, selector: &Selector) -> Result<Vec<ValueId>> {
        self.evaluate(selector, Kind::Values).map(of_values)
    }

    /// Everything that a selector denotes: of a name both nodes and values, of an operator nodes, of a type values, or one graph.
    ///
    /// # Errors
    ///
    /// As for [`nodes`](Self::nodes).
    pub fn elements(&self, selector: &Selector) -> Result<Vec<Element>> {
        if let Selector::Graph(scope) = selector {
            return Ok(vec![Element::Graph(self.graph(scope)?)]);
        }
        let terms = match selector {
            Selector::Union(terms) => terms.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut budget = Budget { left: self.steps };
        let mut found = Vec::new();
        for term in terms {
            found.extend(self.eval(term, natural(term), Universe::Visible, &mut budget)?);
        }
        Ok(unique(found))
    }

    /// The graph that a scope denotes.
    ///
    /// # Errors
    ///
    /// If there is none or more than one.
    pub fn graph(&self, scope: &SelectorScope) -> Result<GraphId> {
        self.scope_graph(scope, Universe::Visible, &mut Budget { left: self.steps })
    }

    fn evaluate(&self, selector: &Selector, kind: Kind) -> Result<Vec<Element>> {
        self.eval(selector, kind, Universe::Visible, &mut Budget { left: self.steps })
    }

    /// What contains selectors has a function for itself, which keeps the frames of the recursion small.
    fn eval(
        &self,
        selector: &Selector,
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        budget.take(1)?;
        match selector {
            // They denote nodes only. They are not resolved twice, which would double the work at each level of nesting.
            Selector::Flow(..) | Selector::Between(..) | Selector::Pattern(..) | Selector::Node(_)
                if kind == Kind::Sources =>
            {
                Ok(Vec::new())
            }
            Selector::Flow(direction, inner, distance) => {
                let found = self.reached(inner, *direction, *distance, universe, budget)?;
                Ok(self.converted(to_elements(found), kind))
            }
            Selector::Between(from, to) => self.paths(from, to, kind, universe, budget),
            Selector::In(scope, inner) => {
                let graph = self.scope_graph(scope, universe, budget)?;
                self.eval(inner, kind, Universe::One(graph), budget)
            }
            Selector::Graph(scope) => {
                let graph = self.scope_graph(scope, universe, budget)?;
                self.contents(graph, kind, budget)
            }
            Selector::Union(terms) => self.union(terms, kind, universe, budget),
            Selector::Refined(first, rest) => {
                let kind = if kind == Kind::Any { natural(selector) } else { kind };
                self.refined(first, rest, kind, universe, budget)
            }
            simple => self.simple(simple, kind, universe, budget),
        }
    }

    /// What a selector without selectors in it denotes.
    fn simple(
        &self,
        selector: &Selector,
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let found = match selector {
            Selector::Name(name) => return self.by_name(name, kind, universe, budget),
            Selector::Glob(glob) => return self.by_glob(glob, kind, universe, budget),
            Selector::Set(ElementSet::All) => return self.all(kind, universe, budget),
            Selector::Node(index) => {
                let graph = self.first_graph(universe);
                let node = self.index().get(graph).and_then(|found| found.nodes.get(*index));
                node.map(|&node| Element::Node(node)).into_iter().collect()
            }
            Selector::Set(set) => self.set(*set, universe, budget)?,
            Selector::Fact(fact) => self.with_fact(fact, universe, budget)?,
            Selector::Metadata(key, value) => self.with_metadata(key, value.as_ref(), universe, budget)?,
            Selector::Finding(rule) => self.found(rule, universe, budget)?,
            Selector::Pattern(text, offset) => self.matching(text, *offset, universe, budget)?,
            Selector::Flow(..)
            | Selector::Between(..)
            | Selector::In(..)
            | Selector::Graph(_)
            | Selector::Union(_)
            | Selector::Refined(..) => Vec::new(), // `eval` has them.
        };
        Ok(self.converted(found, kind))
    }

    /// The nodes that edges connect with those of a selector. A value that no node produces stands for its consumers.
    fn reached(
        &self,
        inner: &Selector,
        direction: Direction,
        distance: Option<usize>,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<NodeId>> {
        let mut start = of_nodes(self.eval(inner, Kind::Nodes, universe, budget)?);
        if direction != Direction::Up {
            let sources = of_values(self.eval(inner, Kind::Sources, universe, budget)?);
            self.add_consumers(&sources, &mut start, budget)?;
        }
        self.flow(start, direction, distance, budget)
    }

    fn paths(
        &self,
        from: &Selector,
        to: &Selector,
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let from = of_values(self.eval(from, Kind::Values, universe, budget)?);
        let to = of_values(self.eval(to, Kind::Values, universe, budget)?);
        Ok(self.converted(to_elements(self.between(&from, &to, budget)?), kind))
    }

    /// Everything in a graph and the graphs nested in it.
    fn contents(&self, graph: GraphId, kind: Kind, budget: &mut Budget) -> Result<Vec<Element>> {
        let mut found = Vec::new();
        for graph in self.model.graphs_in(graph) {
            found.extend(self.all(kind, Universe::One(graph), budget)?);
        }
        Ok(found)
    }

    fn union(
        &self,
        terms: &[Selector],
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let mut found = Vec::new();
        for term in terms {
            found.extend(self.eval(term, kind, universe, budget)?);
        }
        Ok(unique(found))
    }

    fn refined(
        &self,
        first: &Selector,
        rest: &[(Refinement, Selector)],
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let mut found = self.eval(first, kind, universe, budget)?;
        for (refinement, other) in rest {
            let others = self.eval(other, kind, universe, budget)?;
            budget.take(found.len().saturating_add(others.len()))?;
            let others: HashSet<Element, RandomState> = others.into_iter().collect();
            found.retain(|element| others.contains(element) == (*refinement == Refinement::And));
        }
        Ok(found)
    }

    /// Elements as nodes or values, each once.
    fn converted(&self, found: Vec<Element>, kind: Kind) -> Vec<Element> {
        let model = self.model;
        let mut converted = Vec::new();
        for element in found {
            match (element, kind) {
                (Element::Value(value), Kind::Nodes) => {
                    converted.extend(model.value(value).producer().map(Element::Node));
                }
                (Element::Value(value), Kind::Sources) if model.value(value).producer().is_some() => {}
                (Element::Node(_), Kind::Sources) => {}
                (Element::Node(node), Kind::Values) => {
                    converted.extend(
                        model.node(node).outputs().iter().flatten().map(|&value| Element::Value(value)),
                    );
                }
                _ => converted.push(element),
            }
        }
        unique(converted)
    }

    /// The graphs of a universe, outer ones first. Training algorithms are not among them.
    fn graphs(&self, universe: Universe) -> Vec<GraphId> {
        match universe {
            Universe::Visible => self.visible().to_vec(),
            Universe::One(_) => vec![self.first_graph(universe)],
        }
    }

    pub(super) fn find_visible(&self) -> Vec<GraphId> {
        let model = self.model;
        let bodies = model.functions().iter().map(|&function| model.function(function).body());
        let bodies = bodies.take(if self.has_functions { usize::MAX } else { 0 });
        let mut hidden: SecondaryMap<GraphId, ()> = SecondaryMap::new();
        let mut graphs = Vec::new();
        for graph in std::iter::once(model.main_graph()).chain(bodies).flat_map(|root| model.graphs_in(root))
        {
            let is_hidden = match model.graph(graph).owner() {
                Owner::Algorithm | Owner::Initialization => true,
                Owner::Node(node) => hidden.contains_key(model.node(node).graph()),
                _ => false,
            };
            if is_hidden {
                hidden.insert(graph, ());
            } else {
                graphs.push(graph);
            }
        }
        graphs
    }

    fn first_graph(&self, universe: Universe) -> GraphId {
        match universe {
            Universe::Visible => self.model.main_graph(),
            Universe::One(graph) => graph,
        }
    }

    /// What a name denotes: in the outermost graph that has it.
    fn by_name(
        &self,
        name: &str,
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let Some(name) = self.model.names().get(name).filter(|name| !name.is_empty()) else {
            return Ok(Vec::new());
        };
        let in_graph = |graph: GraphId| {
            let Some(index) = self.index().get(graph) else { return Vec::new() };
            let nodes: Vec<Element> =
                index.named.get(&name).into_iter().flatten().map(|&n| Element::Node(n)).collect();
            let values: Vec<Element> =
                index.values.get(&name).into_iter().flatten().map(|&v| Element::Value(v)).collect();
            match kind {
                Kind::Any => values.into_iter().chain(nodes).collect(),
                Kind::Nodes if nodes.is_empty() => self.converted(values, kind),
                Kind::Nodes => nodes,
                Kind::Sources if nodes.is_empty() => self.converted(values, kind),
                Kind::Sources => Vec::new(),
                Kind::Values if values.is_empty() => self.converted(nodes, kind),
                Kind::Values => values,
            }
        };
        let is_there = |graph: GraphId| {
            let index = self.index().get(graph);
            index.is_some_and(|index| index.values.contains_key(&name) || index.named.contains_key(&name))
        };
        let first = self.first_graph(universe);
        if is_there(first) || matches!(universe, Universe::One(_)) {
            return Ok(in_graph(first));
        }
        // Graphs that are nested in different nodes may have the same names.
        let graphs = self.homes(name);
        budget.take(graphs.len())?;
        Ok(graphs.iter().copied().flat_map(in_graph).collect())
    }

    /// What the names denote that a pattern matches.
    fn by_glob(
        &self,
        glob: &Glob,
        kind: Kind,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let model = self.model;
        let steps = Cell::new(budget.left);
        let matches =
            |name: onnx_types::Symbol| !name.is_empty() && glob.matches_within(model.str(name), &steps);
        let mut found = Vec::new();
        for graph in self.graphs(universe) {
            let Some(index) = self.index().get(graph) else { continue };
            if matches!(kind, Kind::Nodes | Kind::Any) {
                found.extend(
                    index
                        .nodes
                        .iter()
                        .copied()
                        .filter(|&node| {
                            let record = model.node(node);
                            let is_made = |value: ValueId| {
                                let name = model.value(value).name();
                                matches(name) && !index.named.contains_key(&name)
                            };
                            matches(record.name())
                                || kind == Kind::Nodes
                                    && record.outputs().iter().flatten().any(|&value| is_made(value))
                        })
                        .map(Element::Node),
                );
            }
            if kind != Kind::Nodes {
                found.extend(
                    model
                        .definitions(graph)
                        .filter(|&value| {
                            let record = model.value(value);
                            let is_made = || {
                                let name = record.producer().map(|node| model.node(node).name());
                                name.is_some_and(|name| matches(name) && !index.values.contains_key(&name))
                            };
                            matches(record.name()) || kind == Kind::Values && is_made()
                        })
                        .map(Element::Value),
                );
            }
        }
        budget.left = steps.get();
        budget.take(found.len().saturating_add(1))?;
        Ok(if kind == Kind::Sources { self.converted(found, kind) } else { found })
    }

    fn all(&self, kind: Kind, universe: Universe, budget: &mut Budget) -> Result<Vec<Element>> {
        let mut found = Vec::new();
        for graph in self.graphs(universe) {
            if matches!(kind, Kind::Nodes | Kind::Any) {
                found.extend(self.model.nodes(graph).map(Element::Node));
            }
            if kind != Kind::Nodes {
                found.extend(self.model.definitions(graph).map(Element::Value));
            }
        }
        budget.take(found.len())?;
        Ok(if kind == Kind::Sources { self.converted(found, kind) } else { found })
    }

    fn set(&self, set: ElementSet, universe: Universe, budget: &mut Budget) -> Result<Vec<Element>> {
        let model = self.model;
        let first = self.first_graph(universe);
        let found: Vec<Element> = match set {
            ElementSet::Inputs => {
                let inputs = model.graph(first).inputs().iter().copied();
                inputs
                    .filter(|&value| model.value(value).initializer().is_none())
                    .map(Element::Value)
                    .collect()
            }
            ElementSet::Outputs => {
                let outputs = model.graph(first).outputs().iter();
                unique(outputs.map(|output| Element::Value(output.value())).collect())
            }
            ElementSet::Weights => {
                let graphs = self.graphs(universe).into_iter();
                graphs.flat_map(|graph| model.initializers(graph)).map(Element::Value).collect()
            }
            ElementSet::All => Vec::new(),
        };
        budget.take(found.len())?;
        Ok(found)
    }

    fn facts(&self) -> Result<&dyn SelectorFacts> {
        self.facts
            .ok_or_else(|| SelectorError::of("operators, types and diagnostics cannot be selected here"))
    }

    fn with_fact(&self, fact: &ValueFact, universe: Universe, budget: &mut Budget) -> Result<Vec<Element>> {
        let facts = self.facts()?;
        let mut found = self.all(Kind::Values, universe, budget)?;
        found.retain(|element| {
            let &Element::Value(value) = element else { return false };
            match fact {
                ValueFact::Type(elems) => facts.elem(value).is_some_and(|elem| elems.contains(&elem)),
                ValueFact::Rank(range) => facts.rank(value).is_some_and(|rank| range.holds(rank as u64)),
                ValueFact::Bytes(range) => facts.bytes(value).is_some_and(|bytes| range.holds(bytes)),
                ValueFact::Unknown => facts.is_unknown(value),
                ValueFact::Constant => facts.is_constant(value),
            }
        });
        Ok(found)
    }

    fn with_metadata(
        &self,
        key: &str,
        value: Option<&TextPattern>,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let model = self.model;
        let Some(key) = model.names().get(key) else { return Ok(Vec::new()) };
        let steps = Cell::new(budget.left);
        let matches = |metadata: &[MetadataEntry]| {
            let found = metadata_value(metadata, key);
            found.is_some_and(|found| match value {
                None => true,
                Some(TextPattern::Exact(text)) => found.as_str() == text,
                Some(TextPattern::Glob(glob)) => glob.matches_within(found.as_str(), &steps),
            })
        };
        let mut found = self.all(Kind::Any, universe, budget)?;
        found.retain(|element| match *element {
            Element::Node(node) => matches(model.node(node).metadata()),
            Element::Value(value) => matches(model.value(value).metadata()),
            Element::Graph(_) => false,
        });
        budget.left = budget.left.min(steps.get());
        budget.take(1)?;
        Ok(found)
    }

    fn found(&self, rule: &str, universe: Universe, budget: &mut Budget) -> Result<Vec<Element>> {
        let loci = self.facts()?.findings(rule).map_err(SelectorError::of)?;
        budget.take(loci.len())?;
        let graphs: SecondaryMap<GraphId, ()> =
            self.graphs(universe).into_iter().map(|graph| (graph, ())).collect();
        let is_in = |element: &Element| match *element {
            Element::Graph(_) => false,
            Element::Node(node) => graphs.contains_key(self.model.node(node).graph()),
            Element::Value(value) => graphs.contains_key(self.model.graph_of(value)),
        };
        let elements = loci.iter().filter_map(|locus| self.element(locus));
        Ok(unique(elements.filter(is_in).collect()))
    }

    fn matching(
        &self,
        call: &str,
        offset: usize,
        universe: Universe,
        budget: &mut Budget,
    ) -> Result<Vec<Element>> {
        let facts = self.facts()?;
        let graphs = self.graphs(universe);
        let nodes =
            graphs.iter().filter_map(|&graph| self.index().get(graph)).flat_map(|index| index.nodes.iter());
        let found = facts.matching(call, &mut nodes.copied(), &mut budget.left).map_err(|error| {
            let offset = error.offset.map(|at| at.saturating_add(offset));
            SelectorError { offset, ..error }
        })?;
        Ok(to_elements(found))
    }

    fn scope_graph(&self, scope: &SelectorScope, universe: Universe, budget: &mut Budget) -> Result<GraphId> {
        let model = self.model;
        match scope {
            SelectorScope::Main => Ok(model.main_graph()),
            SelectorScope::Body { node, attribute, index } => {
                let nodes = of_nodes(self.eval(node, Kind::Nodes, universe, budget)?);
                let [node] = nodes.as_slice() else {
                    let count = nodes.len();
                    return Err(SelectorError::of(format!(
                        "`body` is of one node, and {count} nodes are selected"
                    )));
                };
                let name = model.names().get(attribute);
                let value = name.and_then(|name| model.node(*node).attribute(name));
                let graph = value.and_then(|attribute| attribute.value().graphs().get(*index).copied());
                graph.ok_or_else(|| SelectorError::of("the node has no such graph"))
            }
            SelectorScope::Function(name) => {
                budget.take(1)?;
                match self.body(name) {
                    Some(Some(body)) => Ok(body),
                    None => Err(SelectorError::of(no_such_function(model))),
                    Some(None) => Err(SelectorError::of("the model has several functions of this name")),
                }
            }
        }
    }
}

/// What a selector denotes by itself: nodes, values, or both.
fn natural(selector: &Selector) -> Kind {
    match selector {
        Selector::Name(_)
        | Selector::Glob(_)
        | Selector::Metadata(..)
        | Selector::Finding(_)
        | Selector::Graph(_)
        | Selector::Set(ElementSet::All) => Kind::Any,
        Selector::Node(_) | Selector::Flow(..) | Selector::Between(..) | Selector::Pattern(..) => Kind::Nodes,
        Selector::Set(_) | Selector::Fact(_) => Kind::Values,
        Selector::In(_, inner) => natural(inner),
        Selector::Union(terms) => both(terms.iter()),
        Selector::Refined(first, rest) => {
            both(std::iter::once(&**first).chain(rest.iter().map(|(_, other)| other)))
        }
    }
}

/// The kind in which sets can be compared.
fn both<'a>(selectors: impl Iterator<Item = &'a Selector>) -> Kind {
    selectors.map(natural).fold(Kind::Any, |kind, other| match (kind, other) {
        (Kind::Nodes, _) | (_, Kind::Nodes) => Kind::Nodes,
        (Kind::Values, _) | (_, Kind::Values) => Kind::Values,
        _ => Kind::Any,
    })
}

fn of_nodes(elements: Vec<Element>) -> Vec<NodeId> {
    let node = |element| if let Element::Node(node) = element { Some(node) } else { None };
    elements.into_iter().filter_map(node).collect()
}

fn of_values(elements: Vec<Element>) -> Vec<ValueId> {
    let value = |element| if let Element::Value(value) = element { Some(value) } else { None };
    elements.into_iter().filter_map(value).collect()
}

fn to_elements(nodes: Vec<NodeId>) -> Vec<Element> {
    nodes.into_iter().map(Element::Node).collect()
}
