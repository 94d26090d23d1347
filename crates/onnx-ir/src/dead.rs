//! Removing what nothing uses.

use slotmap::SecondaryMap;

use crate::edit::EditError;
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::extras::ValueRef;
use crate::graph::Owner;
use crate::model::Model;
use crate::value::Def;

impl Model {
    /// Erases the nodes of a graph, and of everything nested in it, that nothing needs: nodes with outputs of which none is
    /// used. Returns how many were erased.
    ///
    /// Erasing a node may leave the outputs of others without uses; these nodes are also erased, in whatever graph they
    /// are. Nodes without any outputs stay, as they can only exist for an effect, and so do nodes with an output that a
    /// quantization annotation or a training binding refers to. It takes linear time.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn erase_dead_nodes(&mut self, graph: GraphId) -> usize {
        self.erase_dead(graph, &self.referred_values())
    }

    /// Erases the dead nodes of several graphs, like [`erase_dead_nodes`](Self::erase_dead_nodes), in linear time for all of them.
    /// Returns how many were erased.
    ///
    /// # Panics
    ///
    /// Panics if a graph is not of this model or was removed.
    pub fn erase_dead_nodes_in(&mut self, graphs: &[GraphId]) -> usize {
        let referred = self.referred_values();
        graphs.iter().map(|&graph| self.erase_dead(graph, &referred)).sum()
    }

    /// Erases the dead nodes of a graph, except those with an output that is `referred` to.
    fn erase_dead(&mut self, graph: GraphId, referred: &SecondaryMap<ValueId, ()>) -> usize {
        let mut candidates: Vec<NodeId> = self.nodes_in(graph).collect();
        let mut erased = 0;
        while let Some(node) = candidates.pop() {
            if !self.is_dead(node) {
                continue;
            }
            let mut outputs = self.nodes[node].outputs.iter().flatten();
            if outputs.any(|&value| referred.contains_key(value)) {
                continue;
            }
            let begin = candidates.len();
            self.for_each_use_within(node, |value| candidates.extend(self.values[value].producer()));
            match self.erase_node(node) {
                Ok(()) => erased += 1,
                // Its outputs are unused, so this does not happen; the node then stays as it is.
                Err(EditError::StillUsed { .. } | _) => candidates.truncate(begin),
            }
        }
        erased
    }

    /// Erases what nothing needs in the whole model: dead nodes and unused initializers of all graphs, and then functions that
    /// nothing calls. Returns how many nodes, initializers and functions were erased. It takes linear time.
    ///
    /// See [`erase_dead_nodes`](Self::erase_dead_nodes), [`erase_unused_initializers`](Self::erase_unused_initializers) and
    /// [`erase_unused_functions`](Self::erase_unused_functions) for what stays.
    pub fn erase_unused(&mut self) -> usize {
        let roots: Vec<GraphId> = self.roots().chain(self.algorithms()).collect();
        let nodes = self.erase_dead_nodes_in(&roots);
        let functions = self.erase_unused_functions();
        let graphs: Vec<GraphId> = self.all_graphs().collect();
        nodes + functions + self.erase_unused_initializers_in(&graphs)
    }

    /// Whether nothing needs a node: it has outputs, and none of them is used. A node that is gone is not dead.
    #[must_use]
    pub fn is_dead(&self, node: NodeId) -> bool {
        let Some(record) = self.nodes.get(node) else { return false };
        let mut outputs = record.outputs.iter().flatten().peekable();
        outputs.peek().is_some() && outputs.all(|&value| !self.values[value].is_used())
    }

    /// Removes the initializers of a graph that nothing uses, and returns how many were removed.
    ///
    /// Graph inputs with a default stay, and so do initializers that a quantization annotation or a training binding refers
    /// to.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn erase_unused_initializers(&mut self, graph: GraphId) -> usize {
        self.erase_initializers(graph, &self.referred_values())
    }

    /// Removes the unused initializers of several graphs, like [`erase_unused_initializers`](Self::erase_unused_initializers), in
    /// linear time for all of them. Returns how many were removed.
    ///
    /// # Panics
    ///
    /// Panics if a graph is not of this model or was removed.
    pub fn erase_unused_initializers_in(&mut self, graphs: &[GraphId]) -> usize {
        let referred = self.referred_values();
        graphs.iter().map(|&graph| self.erase_initializers(graph, &referred)).sum()
    }

    /// Removes the initializers of a graph that are neither used nor `referred` to.
    fn erase_initializers(&mut self, graph: GraphId, referred: &SecondaryMap<ValueId, ()>) -> usize {
        let unused = |value: &ValueId| {
            let record = &self.values[*value];
            let plain = matches!(record.def, Def::Initializer(_));
            plain && !record.is_used() && !referred.contains_key(*value)
        };
        let unused: Vec<ValueId> = self.initializers(graph).filter(unused).collect();
        unused.into_iter().filter(|&value| self.erase_value(value).is_ok()).count()
    }

    /// Removes the functions that nothing calls: neither the graphs of the model nor a function that stays. Returns how many
    /// were removed. It takes linear time.
    pub fn erase_unused_functions(&mut self) -> usize {
        let mut is_used: SecondaryMap<FunctionId, ()> = SecondaryMap::new();
        let is_of_model = |graph: &GraphId| !matches!(self.graphs[*graph].owner, Owner::Function(_));
        let mut open: Vec<GraphId> = self.roots().filter(is_of_model).chain(self.algorithms()).collect();
        while let Some(graph) = open.pop() {
            for node in self.nodes_in(graph) {
                // A standard operator takes precedence over a function of its name in some readers only, so both count.
                if let Some(function) = self.function_called(&self.nodes[node])
                    && is_used.insert(function, ()).is_none()
                {
                    let record = &self.functions[function];
                    open.push(record.body);
                    open.extend(record.defaults.iter().flat_map(|default| default.value().graphs()));
                }
            }
        }
        let unused: Vec<FunctionId> =
            self.functions().iter().copied().filter(|&function| !is_used.contains_key(function)).collect();
        self.remove_functions(&unused)
    }

    /// The values that annotations and bindings refer to.
    fn referred_values(&self) -> SecondaryMap<ValueId, ()> {
        let annotations = self.graphs.values().flat_map(|graph| &graph.quantization);
        let annotations = annotations.flat_map(|annotation| {
            std::iter::once(annotation.tensor).chain(annotation.parameters.iter().map(|entry| entry.value))
        });
        let bindings = self.info.training.iter().flat_map(|training| {
            let all = training.initialization_binding.iter().chain(&training.update_binding);
            all.flat_map(|binding| [binding.key, binding.value])
        });
        let mut referred = SecondaryMap::new();
        for reference in annotations.chain(bindings) {
            if let ValueRef::Value(value) = reference {
                // A value that is gone finds no place in the table, which is as well.
                referred.insert(value, ());
            }
        }
        referred
    }
}
