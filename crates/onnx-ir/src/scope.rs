//! Scopes: which names a graph sees.

use crate::entity::{GraphId, NodeId, ValueId};
use crate::graph::Owner;
use crate::model::Model;
use crate::value::Def;

impl Model {
    /// The graph whose names are visible in `graph` in addition to its own: that of the node it is nested in, or the
    /// main graph for a training algorithm.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn parent(&self, graph: GraphId) -> Option<GraphId> {
        match self.graphs[graph].owner {
            Owner::Node(node) => Some(self.nodes[node].graph),
            Owner::Algorithm => Some(self.main),
            Owner::Model | Owner::Detached | Owner::Function(_) | Owner::Initialization => None,
        }
    }

    /// The outermost graphs that belong to the model: the main graph, the training initializations, the functions' bodies
    /// and, rarely, graphs in functions' attribute defaults. Training algorithms see the names of the main graph, so they
    /// count as nested in it: see [`Model::algorithms`].
    pub fn roots(&self) -> impl Iterator<Item = GraphId> + '_ {
        let initializations = self.info.training.iter().filter_map(|training| training.initialization);
        let functions = self.function_order.iter().flat_map(|&function| {
            let record = &self.functions[function];
            let defaults =
                record.defaults.iter().flat_map(|default| default.value().graphs().iter().copied());
            std::iter::once(record.body).chain(defaults)
        });
        let roots = std::iter::once(self.main).chain(initializations).chain(functions);
        roots.filter(|&graph| self.graphs.contains_key(graph))
    }

    /// The graphs that compute the training steps.
    pub fn algorithms(&self) -> impl Iterator<Item = GraphId> + '_ {
        let algorithms = self.info.training.iter().filter_map(|training| training.algorithm);
        algorithms.filter(|&graph| self.graphs.contains_key(graph))
    }

    /// Whether `graph` is `ancestor` or nested in it at any depth.
    ///
    /// # Panics
    ///
    /// Panics if a graph is not of this model or was removed.
    #[must_use]
    pub fn is_inside(&self, graph: GraphId, ancestor: GraphId) -> bool {
        let mut at = Some(graph);
        while let Some(current) = at {
            if current == ancestor {
                return true;
            }
            at = self.parent(current);
        }
        false
    }

    /// The outermost graph around a graph: the main graph, a function's body, a training graph, or a detached graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn root(&self, graph: GraphId) -> GraphId {
        let mut at = graph;
        while let Some(parent) = self.parent(at) {
            at = parent;
        }
        at
    }

    /// The graph that defines a value; for an unresolved one the graph whose names it was looked up in.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn graph_of(&self, value: ValueId) -> GraphId {
        match self.values[value].def {
            Def::Unresolved(graph) | Def::Initializer(graph) | Def::Input { graph, .. } => graph,
            Def::Output { node, .. } => self.nodes[node].graph,
        }
    }

    /// The node of `graph` that `node` is, or is nested in; `None` where `node` lies elsewhere.
    ///
    /// It determines the position of a use by a nested node in the order of `graph`.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model or was erased.
    #[must_use]
    pub fn ancestor_in(&self, node: NodeId, graph: GraphId) -> Option<NodeId> {
        let mut at = node;
        loop {
            let current = self.nodes[at].graph;
            if current == graph {
                return Some(at);
            }
            match self.graphs[current].owner {
                Owner::Node(owner) => at = owner,
                _ => return None,
            }
        }
    }

    /// The values that a graph defines: its inputs, the initializers that are not inputs, and the outputs of its nodes in
    /// order.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn definitions(&self, graph: GraphId) -> impl Iterator<Item = ValueId> + '_ {
        let inputs = self.graphs[graph].inputs.iter().copied();
        let is_input = |value: &ValueId| matches!(self.values[*value].def, Def::Input { .. });
        let initializers = self.initializers(graph).filter(move |value| !is_input(value));
        let outputs = self.nodes(graph).flat_map(|node| self.nodes[node].outputs.iter().flatten().copied());
        inputs.chain(initializers).chain(outputs)
    }

    /// The value that a name means in a graph: a value that the graph defines, or else the nearest graph around it. If a
    /// graph defines the name several times, which is not valid, the first of these [definitions](Self::definitions).
    ///
    /// The order of the nodes does not matter: a value is found in the graphs nested in a node before its producer, too. A
    /// name that is used and not defined anywhere has no value in this sense. Names are data and not an index, so the time is
    /// linear in the definitions of the graphs that are searched.
    ///
    /// ```
    /// use onnx_ir::{Model, Position};
    /// use onnx_schema::op;
    ///
    /// let mut model = Model::new();
    /// let main = model.main_graph();
    /// let x = model.add_graph_input(main, "x", None);
    /// let y = model.build_at(Position::End(main)).op(op::RELU, [x]).output_named("y")?;
    /// assert_eq!(model.find_value(main, "y"), Some(y));
    /// assert_eq!(model.find_value(main, "z"), None);
    /// # Ok::<(), onnx_ir::EditError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn find_value(&self, graph: GraphId, name: &str) -> Option<ValueId> {
        let name = self.names.get(name).filter(|name| !name.is_empty())?;
        let graphs = std::iter::successors(Some(graph), |&graph| self.parent(graph));
        let mut definitions = graphs.flat_map(|graph| self.definitions(graph));
        definitions.find(|&value| self.values[value].name == name)
    }

    /// Whether a value is visible in a graph: defined in it or in one that encloses it.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model or was erased.
    #[must_use]
    pub fn is_visible(&self, value: ValueId, graph: GraphId) -> bool {
        self.is_inside(graph, self.graph_of(value))
    }
}
