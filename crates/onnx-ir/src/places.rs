//! Loci of model elements, for diagnostics.

use std::cell::{Cell, OnceCell};

use onnx_diag::{Locus, LocusStep, Position};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::{Constant, Def, FunctionId, GraphId, Model, NodeId, Origin, Owner, ValueId, ValueRef};

/// Computes the loci of graphs, nodes and values of a model, for diagnostics about them.
///
/// A locus is the path from the model through nodes and attributes to the graph that contains the element, and the
/// source position if it is known. Nothing is computed before the first query for a node; then all nodes are counted
/// once, so that many loci take time linear in the model and in their own lengths.
///
/// ```
/// use onnx_ir::{Model, Places, Position};
/// use onnx_schema::op;
///
/// let mut model = Model::new();
/// let graph = model.main_graph();
/// let x = model.add_graph_input(graph, "x", None);
/// let node = model.build_at(Position::End(graph)).op(op::RELU, [x]).node()?;
/// assert!(Places::new(&model).node(node).to_string().ends_with("node #0 Relu"));
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
pub struct Places<'a> {
    model: &'a Model,
    /// The position of every node in its graph; counted when the first node is named.
    positions: OnceCell<SecondaryMap<NodeId, usize>>,
    /// Whether every query returns the root locus. Set while a diagnostic is only counted and its locus is never
    /// displayed.
    is_terse: Cell<bool>,
    /// Number of outermost steps that are omitted.
    hidden: usize,
}

impl<'a> Places<'a> {
    /// The places of a model.
    #[must_use]
    pub const fn new(model: &'a Model) -> Self {
        Self::below(model, 0)
    }

    /// The places of a part of a model: the outermost `hidden` steps are left out, because for the reader there is nothing
    /// around the part.
    #[must_use]
    pub const fn below(model: &'a Model, hidden: usize) -> Self {
        Self { model, positions: OnceCell::new(), is_terse: Cell::new(false), hidden }
    }

    /// Sets whether every query returns the root locus, for diagnostics whose loci are never displayed.
    pub fn set_terse(&self, is_terse: bool) {
        self.is_terse.set(is_terse);
    }

    /// The text of a symbol.
    #[must_use]
    pub fn str(&self, symbol: Symbol) -> &'a str {
        self.model.str(symbol)
    }

    /// The place of a graph.
    #[must_use]
    pub fn graph(&self, graph: GraphId) -> Locus {
        self.locate(Vec::new(), graph)
    }

    /// The name by which a part of the model that is not data flow refers to a value.
    #[must_use]
    pub fn referred(&self, reference: ValueRef) -> &'a str {
        match reference {
            ValueRef::Name(name) => self.str(name),
            ValueRef::Value(value) => self.model.get_value(value).map_or("", |value| self.str(value.name())),
        }
    }

    /// The place of a function.
    #[must_use]
    pub fn function(&self, function: FunctionId) -> Locus {
        let record = self.model.function(function);
        Locus::model().function(
            self.str(record.domain()),
            self.str(record.name()),
            self.str(record.overload()),
        )
    }

    /// The place of an attribute that a function declares.
    #[must_use]
    pub fn function_attribute(&self, function: FunctionId, name: Symbol) -> Locus {
        self.function(function).attribute(self.str(name))
    }

    /// The place of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Locus {
        if self.is_terse.get() {
            return Locus::model();
        }
        let record = self.model.node(node);
        self.locate(vec![self.node_step(node)], record.graph()).at(position(self.model.root_origin(node)))
    }

    /// The locus of an input of a node, with the name of its value.
    #[must_use]
    pub fn input(&self, node: NodeId, index: usize) -> Locus {
        let value = self.model.node(node).input(index);
        self.node(node).input(index, value.map_or("", |value| self.name(value)))
    }

    /// The place of an output of a node.
    #[must_use]
    pub fn output(&self, node: NodeId, index: usize) -> Locus {
        let value = self.model.node(node).output(index);
        self.node(node).output(index, value.map_or("", |value| self.name(value)))
    }

    /// The place of an attribute of a node.
    #[must_use]
    pub fn attribute(&self, node: NodeId, name: Symbol) -> Locus {
        self.node(node).attribute(self.str(name))
    }

    /// The place where a value is defined.
    #[must_use]
    pub fn definition(&self, value: ValueId) -> Locus {
        let name = self.name(value);
        match self.model.value(value).def() {
            Def::Output { node, index } => self.output(node, index as usize),
            Def::Input { graph, index } => {
                self.graph(graph).input(index as usize, name).at(self.origin(value))
            }
            Def::Initializer(_) => self.initializer(value),
            // The graph that the name was looked up in may be gone.
            Def::Unresolved(graph) if self.model.get_graph(graph).is_some() => self.graph(graph).value(name),
            Def::Unresolved(_) => Locus::model().value(name),
        }
    }

    /// The place of an input of a graph.
    #[must_use]
    pub fn graph_input(&self, graph: GraphId, index: usize) -> Locus {
        let value = self.model.graph(graph).inputs().get(index).copied();
        let place = self.graph(graph).input(index, value.map_or("", |value| self.name(value)));
        place.at(value.and_then(|value| self.origin(value)))
    }

    /// The place of an output of a graph.
    #[must_use]
    pub fn graph_output(&self, graph: GraphId, index: usize) -> Locus {
        let output = self.model.graph(graph).outputs().get(index);
        self.graph(graph).output(index, output.map_or("", |output| self.name(output.value())))
    }

    /// The place of an entry of a graph's `value_info`.
    #[must_use]
    pub fn value_info(&self, graph: GraphId, value: ValueId) -> Locus {
        self.graph(graph).value_info(self.name(value))
    }

    /// The place of a quantization annotation of a graph.
    #[must_use]
    pub fn annotation(&self, graph: GraphId, tensor: ValueRef) -> Locus {
        let name = match tensor {
            ValueRef::Value(value) => self.model.get_value(value).map_or(Symbol::EMPTY, |value| value.name()),
            ValueRef::Name(name) => name,
        };
        self.graph(graph).quantization_annotation(self.str(name))
    }

    /// The place of an initializer, which may be the default of a graph input.
    #[must_use]
    pub fn initializer(&self, value: ValueId) -> Locus {
        let graph = self.graph(self.model.graph_of(value));
        let name = self.name(value);
        let is_sparse = self.model.value(value).initializer().is_some_and(|constant| is_sparse(constant));
        let place = if is_sparse { graph.sparse_initializer(name) } else { graph.initializer(name) };
        place.at(self.origin(value))
    }

    fn name(&self, value: ValueId) -> &'a str {
        self.str(self.model.value(value).name())
    }

    fn origin(&self, value: ValueId) -> Option<Position> {
        position(self.model.value_origin(value))
    }

    pub(crate) fn node_step(&self, node: NodeId) -> LocusStep {
        let record = self.model.node(node);
        let positions = self.positions.get_or_init(|| self.count());
        let index = positions.get(node).copied().unwrap_or_default();
        let (domain, op) = (self.str(record.domain()), self.str(record.op()));
        let op = if domain.is_empty() { op.into() } else { format!("{domain}::{op}").into() };
        LocusStep::Node { index, op, name: self.str(record.name()).into() }
    }

    /// Counts the nodes of all graphs.
    fn count(&self) -> SecondaryMap<NodeId, usize> {
        let mut positions = SecondaryMap::with_capacity(self.model.node_count());
        for graph in self.model.all_graphs() {
            self.model.nodes(graph).enumerate().for_each(|(index, node)| {
                positions.insert(node, index);
            });
        }
        positions
    }

    /// Puts the way from the model to `graph` before `steps`, which are in the order from the place to its graph.
    fn locate(&self, mut steps: Vec<LocusStep>, graph: GraphId) -> Locus {
        if self.is_terse.get() {
            return Locus::model();
        }
        let mut at = graph;
        loop {
            let record = self.model.graph(at);
            if !matches!(record.owner(), Owner::Function(_)) {
                steps.push(LocusStep::Graph { name: self.str(record.name()).into() });
            }
            match record.owner() {
                Owner::Node(node) => {
                    steps.extend(self.attribute_steps(node, at));
                    steps.push(self.node_step(node));
                    at = self.model.node(node).graph();
                    continue;
                }
                Owner::Function(function) => {
                    steps.extend(self.function(function).steps().iter().cloned());
                }
                Owner::Initialization | Owner::Algorithm => {
                    let training = &self.model.info().training;
                    let index = training
                        .iter()
                        .position(|step| step.initialization == Some(at) || step.algorithm == Some(at));
                    steps.extend(index.map(|index| LocusStep::TrainingInfo { index }));
                }
                Owner::Model | Owner::Detached => {}
            }
            break;
        }
        steps.reverse();
        if self.hidden > 0 {
            steps.drain(..self.hidden.min(steps.len()));
        }
        Locus::from_steps(steps)
    }

    /// The attribute that contains a nested graph, innermost step first.
    fn attribute_steps(&self, node: NodeId, graph: GraphId) -> impl Iterator<Item = LocusStep> {
        let mut attributes = self.model.node(node).attributes().iter();
        let found = attributes.find_map(|attribute| {
            let graphs = attribute.value().graphs();
            let index = graphs.iter().position(|&nested| nested == graph)?;
            let element = (attribute.as_graph().is_none()).then_some(LocusStep::Element { index });
            Some((element, LocusStep::Attribute { name: self.str(attribute.name()).into() }))
        });
        found.into_iter().flat_map(|(element, attribute)| element.into_iter().chain([attribute]))
    }
}

/// The position that an origin stands for.
fn position(origin: Origin) -> Option<Position> {
    match origin {
        Origin::Byte(offset) => Some(Position::Byte(offset)),
        Origin::Text { line, column } => Some(Position::Text { line, column, length: 0 }),
        Origin::Unknown | Origin::Derived(_) => None,
    }
}

fn is_sparse(constant: &Constant) -> bool {
    matches!(constant, Constant::Sparse(_))
}
