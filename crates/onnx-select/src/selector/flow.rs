//! The nodes that edges connect with others.

use onnx_ir::{GraphId, NodeId, User, ValueId};
use slotmap::SecondaryMap;

use super::{Direction, SelectorError, Selectors};

/// What may still be done to resolve a selector.
pub(super) struct Budget {
    pub(super) left: u64,
}

impl Budget {
    /// Counts steps.
    pub(super) fn take(&mut self, steps: usize) -> Result<(), SelectorError> {
        match self.left.checked_sub(steps as u64) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Err(SelectorError::of_limit());
            }
        }
        Ok(())
    }
}

type Seen = SecondaryMap<NodeId, ()>;

impl Selectors<'_> {
    /// Some nodes, and those that at most `distance` edges separate from them, in the order of the file.
    pub(super) fn flow(
        &self,
        start: Vec<NodeId>,
        direction: Direction,
        distance: Option<usize>,
        budget: &mut Budget,
    ) -> Result<Vec<NodeId>, SelectorError> {
        let graphs = self.graphs_of(&start);
        let mut seen: Seen = start.iter().map(|&node| (node, ())).collect();
        self.spread(start, direction, distance, &mut seen, budget)?;
        self.in_order(&graphs, budget, |node| seen.contains_key(node))
    }

    /// Adds the nodes that use values, themselves or in their nested graphs, each once.
    pub(super) fn add_consumers(
        &self,
        values: &[ValueId],
        nodes: &mut Vec<NodeId>,
        budget: &mut Budget,
    ) -> Result<(), SelectorError> {
        let model = self.model;
        let mut seen: Seen = nodes.iter().map(|&node| (node, ())).collect();
        for &value in values {
            let graph = model.graph_of(value);
            budget.take(model.value(value).uses().len())?;
            for at in model.value(value).uses() {
                let user = match at.user {
                    User::Node(node) | User::Attribute(node) => Some(node),
                    User::Graph(nested) => model.owner_node(nested),
                };
                let user = user.and_then(|node| model.ancestor_in(node, graph));
                nodes.extend(user.filter(|&node| seen.insert(node, ()).is_none()));
            }
        }
        Ok(())
    }

    /// The nodes on the paths from some values to others, in the order of the file.
    pub(super) fn between(
        &self,
        from: &[ValueId],
        to: &[ValueId],
        budget: &mut Budget,
    ) -> Result<Vec<NodeId>, SelectorError> {
        let model = self.model;
        let mut users = Vec::new();
        self.add_consumers(from, &mut users, budget)?;
        let mut seen: Seen = users.iter().map(|&node| (node, ())).collect();
        self.spread(users, Direction::Down, None, &mut seen, budget)?;
        let (mut makers, mut needed) = (Vec::new(), Seen::new());
        for &value in to {
            let node = model.value(value).producer();
            makers.extend(node.filter(|&node| needed.insert(node, ()).is_none()));
        }
        let graphs = self.graphs_of(&makers);
        self.spread(makers, Direction::Up, None, &mut needed, budget)?;
        self.in_order(&graphs, budget, |node| seen.contains_key(node) && needed.contains_key(node))
    }

    /// Adds what edges connect with the nodes of a front.
    fn spread(
        &self,
        start: Vec<NodeId>,
        direction: Direction,
        distance: Option<usize>,
        seen: &mut Seen,
        budget: &mut Budget,
    ) -> Result<(), SelectorError> {
        let mut front = start;
        let mut left = distance.unwrap_or(usize::MAX);
        while left > 0 && !front.is_empty() {
            left = left.saturating_sub(1);
            let mut next = Vec::new();
            for node in front {
                budget.take(1)?;
                if direction != Direction::Down {
                    self.for_each_predecessor(node, budget, |other| {
                        if seen.insert(other, ()).is_none() {
                            next.push(other);
                        }
                    })?;
                }
                if direction != Direction::Up {
                    let mut count = 0_usize;
                    self.model.for_each_successor(node, |other| {
                        count = count.saturating_add(1);
                        if seen.insert(other, ()).is_none() {
                            next.push(other);
                        }
                    });
                    budget.take(count)?;
                }
            }
            front = next;
        }
        Ok(())
    }

    /// Calls `visit` with the nodes of the same graph whose outputs a node needs, itself or in its nested graphs.
    fn for_each_predecessor(
        &self,
        node: NodeId,
        budget: &mut Budget,
        mut visit: impl FnMut(NodeId),
    ) -> Result<(), SelectorError> {
        let model = self.model;
        let record = model.node(node);
        let graph = record.graph();
        let mut visit = |value: ValueId| {
            let producer = model.value(value).producer();
            producer.filter(|&other| model.node(other).graph() == graph).into_iter().for_each(&mut visit);
        };
        budget.take(record.input_count())?;
        record.used_values().for_each(&mut visit);
        for nested in record.nested_graphs().flat_map(|nested| model.graphs_in(nested)) {
            budget.take(model.graph(nested).outputs().len())?;
            for inner in model.nodes(nested) {
                budget.take(model.node(inner).input_count().saturating_add(1))?;
                model.node(inner).used_values().for_each(&mut visit);
            }
            model.graph(nested).outputs().iter().for_each(|output| visit(output.value()));
        }
        Ok(())
    }

    /// The graphs of nodes, each once.
    fn graphs_of(&self, nodes: &[NodeId]) -> Vec<GraphId> {
        let mut seen: SecondaryMap<GraphId, ()> = SecondaryMap::new();
        let graphs = nodes.iter().map(|&node| self.model.node(node).graph());
        graphs.filter(|&graph| seen.insert(graph, ()).is_none()).collect()
    }

    fn in_order(
        &self,
        graphs: &[GraphId],
        budget: &mut Budget,
        is_wanted: impl Fn(NodeId) -> bool,
    ) -> Result<Vec<NodeId>, SelectorError> {
        let mut nodes = Vec::new();
        for &graph in graphs {
            let all = self.index().get(graph).map(|index| index.nodes.as_slice()).unwrap_or_default();
            budget.take(all.len())?;
            nodes.extend(all.iter().copied().filter(|&node| is_wanted(node)));
        }
        Ok(nodes)
    }
}
