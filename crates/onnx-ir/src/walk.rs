//! The traversal of graphs with everything nested in them.

use onnx_schema::Registry;
use slotmap::SecondaryMap;

use crate::entity::{FunctionId, GraphId, NodeId};
use crate::model::Model;

/// An event of a [`Walk`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A graph begins.
    Enter(GraphId),
    /// A node, before the graphs that are nested in it.
    Node(NodeId),
    /// A node, after the graphs that are nested in it.
    After(NodeId),
    /// A graph ends.
    Leave(GraphId),
}

/// A walk over a graph or node and everything nested in it, as a sequence of [`Event`]s: see [`Model::walk`].
///
/// The nodes of a graph are visited in order. The walk can omit parts, and ends when it is dropped. Its memory is
/// proportional to the number of graphs that are open, and nothing recurses.
///
/// ```
/// use onnx_ir::{Attribute, Event, Model, NewNode, Position};
/// use onnx_schema::{attr, op};
///
/// let mut model = Model::new();
/// let main = model.main_graph();
/// let branch = model.new_graph_in(main, onnx_types::Symbol::EMPTY);
/// let relu = model.add_node(Position::End(branch), NewNode::new(op::RELU))?;
/// let attribute = Attribute::new(attr::THEN_BRANCH, branch);
/// let conditional = model.add_node(Position::End(main), NewNode::new(op::IF).attribute(attribute))?;
///
/// let events: Vec<Event> = model.walk(main).collect();
/// assert_eq!(events, [
///     Event::Enter(main),
///     Event::Node(conditional),
///     Event::Enter(branch),
///     Event::Node(relu),
///     Event::After(relu),
///     Event::Leave(branch),
///     Event::After(conditional),
///     Event::Leave(main),
/// ]);
///
/// let mut walk = model.walk(main);
/// while let Some(event) = walk.next() {
///     assert_ne!(event, Event::Enter(branch));
///     if event == Event::Node(conditional) {
///         walk.skip_contents();
///     }
/// }
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    model: &'a Model,
    /// The remaining events, last first.
    stack: Vec<Event>,
    /// Number of steps that remain if the contents of the last event are omitted.
    rest: usize,
    depth: usize,
    has_algorithms: bool,
    functions: Option<Functions<'a>>,
}

/// The functions that a walk enters.
#[derive(Clone, Debug)]
struct Functions<'a> {
    registry: &'a Registry,
    entered: SecondaryMap<FunctionId, ()>,
}

impl<'a> Walk<'a> {
    fn new(model: &'a Model, start: Event) -> Self {
        Self { model, stack: vec![start], rest: 1, depth: 0, has_algorithms: false, functions: None }
    }

    /// Visits the training algorithms, too: after the nodes of the main graph and before it ends, as they see its names.
    #[must_use]
    pub const fn with_algorithms(mut self) -> Self {
        self.has_algorithms = true;
        self
    }

    /// Visits the bodies of functions that nodes call, too. A function is visited once, at the first node that calls it,
    /// between the graphs nested in the node and [`Event::After`]. `registry` supplies the custom operators, as in
    /// [`Model::callee`].
    #[must_use]
    pub fn with_functions(mut self, registry: &'a Registry) -> Self {
        self.functions = Some(Functions { registry, entered: SecondaryMap::new() });
        self
    }

    /// Omits what is inside the last event: after [`Event::Enter`] the nodes of the graph, after [`Event::Node`] the graphs
    /// nested in the node and the function that it calls. The next event is the end of the graph or node.
    pub fn skip_contents(&mut self) {
        self.stack.truncate(self.rest);
    }

    /// Omits what is left of the innermost graph that is open. The next event is its end.
    pub fn skip_rest(&mut self) {
        let end = self.stack.iter().rposition(|step| matches!(step, Event::Leave(_)));
        self.stack.truncate(end.map_or(0, |end| end + 1));
    }

    /// Number of graphs that are open.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// The nodes, each before the nodes of the graphs that are nested in it.
    pub fn nodes(self) -> impl Iterator<Item = NodeId> + 'a {
        self.filter_map(|event| match event {
            Event::Node(node) => Some(node),
            _ => None,
        })
    }

    fn enter(&mut self, graph: GraphId) {
        self.depth += 1;
        self.stack.push(Event::Leave(graph));
        self.rest = self.stack.len();
        if self.has_algorithms && graph == self.model.main {
            self.stack.extend(self.model.algorithms().map(Event::Enter));
            self.reverse_from(self.rest);
        }
        // A graph that is gone has no nodes.
        let record = self.model.graphs.get(graph);
        self.stack.extend(record.and_then(|graph| graph.first).map(Event::Node));
    }

    fn node(&mut self, node: NodeId) {
        self.stack.push(Event::After(node));
        self.rest = self.stack.len();
        let record = &self.model.nodes[node];
        self.stack.extend(record.nested_graphs().map(Event::Enter));
        if let Some(functions) = &mut self.functions
            && self.model.function_called(record).is_some()
            && let Some(function) = self.model.callee(node, functions.registry).function()
            && functions.entered.insert(function, ()).is_none()
        {
            self.stack.push(Event::Enter(self.model.functions[function].body));
        }
        self.reverse_from(self.rest);
    }

    fn reverse_from(&mut self, start: usize) {
        if let Some(steps) = self.stack.get_mut(start..) {
            steps.reverse();
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = self.stack.pop()?;
        match event {
            Event::Enter(graph) => self.enter(graph),
            Event::Node(node) => self.node(node),
            Event::After(node) => {
                // The node with which a walk began is not followed by its neighbors.
                if self.depth > 0 {
                    self.stack.extend(self.model.nodes[node].next.map(Event::Node));
                }
                self.rest = self.stack.len();
            }
            Event::Leave(_) => {
                self.depth -= 1;
                self.rest = self.stack.len();
            }
        }
        Some(event)
    }
}

impl Model {
    /// A walk over a graph and everything nested in it, graphs and nodes, each before and after its contents. A graph that is
    /// gone has no nodes.
    #[must_use]
    pub fn walk(&self, graph: GraphId) -> Walk<'_> {
        Walk::new(self, Event::Enter(graph))
    }

    /// Like [`walk`](Self::walk), for a node and everything nested in it.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased: when the walk comes to it.
    #[must_use]
    pub fn walk_node(&self, node: NodeId) -> Walk<'_> {
        Walk::new(self, Event::Node(node))
    }
}
