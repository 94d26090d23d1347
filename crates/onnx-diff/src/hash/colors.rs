//! Colors: digests of nodes and initializers with what they depend on and what uses them.
//!
//! The *forward* color of a node covers its label and what its operands are, down to the inputs of its graph. The *backward*
//! color covers its uses, up to the outputs. Operands and outputs have positions, so a node on which an output depends is the
//! only one with its backward color: the paths from outputs to nodes tell them apart.

use onnx_ir::{Binding, Def, GraphId, Model, NodeId, Owner, User, ValueId, ValueRef};
use onnx_types::{Execution, Stopped, Symbol, Watch};
use slotmap::{SecondaryMap, SparseSecondaryMap};

use super::label::Labels;
use super::message::{Digest, Message};
use super::order::Order;

/// Number of nodes after which the interrupt is checked.
const INTERVAL: u64 = 256;
/// Number of rounds in which nodes of cycles, which valid models do not have, take on the colors of their neighbors.
const ROUNDS: usize = 3;

/// The colors of a model.
pub(crate) struct Colors {
    pub(crate) labels: SecondaryMap<NodeId, Digest>,
    pub(crate) forward: SecondaryMap<NodeId, Digest>,
    pub(crate) backward: SecondaryMap<NodeId, Digest>,
    /// The labels of initializers.
    pub(crate) constants: SecondaryMap<ValueId, Digest>,
    /// The backward colors of initializers.
    pub(crate) used: SecondaryMap<ValueId, Digest>,
    /// The forward colors of the values at the outputs of graphs without an owner.
    pub(crate) outputs: SecondaryMap<GraphId, Vec<Digest>>,
    /// The forward colors of the values in bindings of training.
    pub(crate) bindings: Vec<Digest>,
}

/// The keys of the inputs and outputs of graphs that no node owns. By default, their indices are the keys.
#[derive(Default)]
pub(crate) struct Ports {
    /// The graphs themselves.
    pub(crate) graphs: SparseSecondaryMap<GraphId, u64>,
    pub(crate) inputs: SparseSecondaryMap<ValueId, u64>,
    pub(crate) outputs: SparseSecondaryMap<GraphId, Vec<u64>>,
    /// Whether backward colors do not cover what a node depends on.
    pub(crate) is_separate: bool,
}

/// A use of a value: kind, levels between, position, user.
type UseEntry = (u8, i64, u64, Digest);

struct Coloring<'a> {
    model: &'a Model,
    ports: &'a Ports,
    levels: SecondaryMap<GraphId, i64>,
    /// The owners of graphs: the attribute of a node, or the root.
    sites: SecondaryMap<GraphId, Digest>,
    /// Uses of values by bindings of training.
    bound: SparseSecondaryMap<ValueId, Vec<UseEntry>>,
    colors: Colors,
    message: Message,
    uses: Vec<UseEntry>,
}

impl Colors {
    /// Computes the colors in time linear in the model, up to sorting the uses of each value.
    pub(crate) fn of(labels: Labels<'_>, ports: &Ports, execution: &Execution) -> Result<Self, Stopped> {
        let model = labels.model;
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        let total = (model.node_count() as u64).saturating_mul(3);
        let mut watch = Watch::new(execution, "hash", total, INTERVAL);
        let colors = Self {
            labels: SecondaryMap::with_capacity(model.node_count()),
            forward: SecondaryMap::with_capacity(model.node_count()),
            backward: SecondaryMap::with_capacity(model.node_count()),
            constants: SecondaryMap::new(),
            used: SecondaryMap::new(),
            outputs: SecondaryMap::new(),
            bindings: Vec::new(),
        };
        let mut coloring = Coloring {
            model,
            ports,
            levels: SecondaryMap::new(),
            sites: SecondaryMap::new(),
            bound: SparseSecondaryMap::new(),
            colors,
            message: Message::new(),
            uses: Vec::new(),
        };
        coloring.graphs(&graphs);
        coloring.bindings();
        let mut parts = Watch::silent(&execution.interrupt, INTERVAL);
        for &graph in &graphs {
            for value in model.initializers(graph) {
                parts.work(1)?;
                let label = labels.initializer(value, &mut coloring.message);
                coloring.colors.constants.insert(value, label);
            }
            for node in model.nodes(graph) {
                watch.work(1)?;
                let label = labels.node(node, &mut coloring.message);
                coloring.colors.labels.insert(node, label);
            }
        }
        let order = Order::of(model, &graphs, &mut parts)?;
        coloring.forward(&order, &mut watch)?;
        coloring.backward(&order, &mut watch)?;
        coloring.rest(&graphs, &mut parts)?;
        Ok(coloring.colors)
    }
}

impl Coloring<'_> {
    /// Levels of graphs, and sites of those without an owner.
    fn graphs(&mut self, graphs: &[GraphId]) {
        for &graph in graphs {
            let (outer, kind) = match self.model.graph(graph).owner() {
                Owner::Node(node) => (Some(self.model.node(node).graph()), 0),
                Owner::Algorithm => (Some(self.model.main_graph()), 3),
                Owner::Model | Owner::Detached => (None, 1),
                Owner::Initialization => (None, 2),
                Owner::Function(_) => (None, 4),
            };
            let level =
                outer.and_then(|outer| self.levels.get(outer)).map_or(0, |level| level.saturating_add(1));
            self.levels.insert(graph, level);
            if kind != 0 {
                let port = self.ports.graphs.get(graph).copied().unwrap_or_default();
                let site = self.message.begin("root").byte(kind).number(port).finish();
                self.sites.insert(graph, site);
            }
        }
    }

    fn bindings(&mut self) {
        for (step, training) in self.model.info().training.iter().enumerate() {
            let lists = [&training.initialization_binding, &training.update_binding];
            for (kind, list) in lists.into_iter().enumerate() {
                for (position, binding) in list.iter().enumerate() {
                    for (side, value) in [(0, binding.key), (1, binding.value)] {
                        let ValueRef::Value(value) = value else { continue };
                        let list = (kind as u64).saturating_mul(2).saturating_add(side);
                        let port = (position as u64).saturating_mul(4).saturating_add(list);
                        let entry = (4, step as i64, port, Digest::default());
                        let Some(entries) = self.bound.entry(value) else { continue };
                        entries.or_default().push(entry);
                    }
                }
            }
        }
    }

    /// Levels from the graph of a definition to that of a use.
    fn between(&self, definition: GraphId, at: GraphId) -> i64 {
        let level = |graph| self.levels.get(graph).copied().unwrap_or_default();
        level(at).wrapping_sub(level(definition))
    }

    /// Adds the kind and the color of a value for a use in a graph.
    fn reference(&self, value: ValueId, at: GraphId, message: &mut Message) {
        let record = self.model.value(value);
        match record.def() {
            Def::Input { graph, index } => {
                let port = self.ports.inputs.get(value).copied().unwrap_or_else(|| index.into());
                message.byte(1).signed(self.between(graph, at)).number(port);
            }
            Def::Initializer(graph) => {
                let label = self.colors.constants.get(value).copied().unwrap_or_default();
                message.byte(2).signed(self.between(graph, at)).digest(label);
            }
            Def::Output { node, index } => {
                let color = self.colors.forward.get(node).copied().unwrap_or_default();
                let level = self.between(self.model.node(node).graph(), at);
                message.byte(3).signed(level).number(index.into()).digest(color);
            }
            Def::Unresolved(_) => {
                message.byte(4).text(self.model.str(record.name()).as_bytes());
            }
        }
    }

    fn forward(&mut self, order: &Order, watch: &mut Watch) -> Result<(), Stopped> {
        for &node in &order.sorted {
            watch.work(1)?;
            let color = self.forward_of(node);
            self.colors.forward.insert(node, color);
        }
        for &node in &order.cyclic {
            self.colors.forward.insert(node, self.label(node));
        }
        for _ in 0..ROUNDS {
            let mut colors = Vec::with_capacity(order.cyclic.len());
            for &node in &order.cyclic {
                watch.work(1)?;
                colors.push((node, self.forward_of(node)));
            }
            colors.into_iter().for_each(|(node, color)| _ = self.colors.forward.insert(node, color));
        }
        Ok(())
    }

    fn label(&self, node: NodeId) -> Digest {
        self.colors.labels.get(node).copied().unwrap_or_default()
    }

    fn forward_of(&mut self, node: NodeId) -> Digest {
        let (model, record) = (self.model, self.model.node(node));
        let mut message = std::mem::replace(&mut self.message, Message::new());
        message.begin("forward").digest(self.label(node));
        // Which operands are omitted is part of the label.
        for input in record.inputs().flatten() {
            self.reference(input, record.graph(), &mut message);
        }
        for (_, _, graph) in nested(model, node) {
            for output in model.graph(graph).outputs() {
                self.reference(output.value(), graph, &mut message);
            }
        }
        let color = message.finish();
        self.message = message;
        color
    }

    fn backward(&mut self, order: &Order, watch: &mut Watch) -> Result<(), Stopped> {
        // Only nodes of cycles use the results of these nodes, so they come first.
        for &node in &order.cyclic {
            self.set_backward(node, self.label(node));
        }
        for _ in 0..ROUNDS {
            let mut colors = Vec::with_capacity(order.cyclic.len());
            for &node in &order.cyclic {
                watch.work(1)?;
                colors.push((node, self.backward_of(node)));
            }
            colors.into_iter().for_each(|(node, color)| self.set_backward(node, color));
        }
        for &node in order.sorted.iter().rev() {
            watch.work(1)?;
            let color = self.backward_of(node);
            self.set_backward(node, color);
        }
        Ok(())
    }

    fn set_backward(&mut self, node: NodeId, color: Digest) {
        self.colors.backward.insert(node, color);
        for (name, element, graph) in nested(self.model, node) {
            let name = self.model.str(name).as_bytes();
            let site = self.message.begin("site").digest(color).text(name).count(element).finish();
            self.sites.insert(graph, site);
        }
    }

    fn backward_of(&mut self, node: NodeId) -> Digest {
        let record = self.model.node(node);
        let mut message = std::mem::replace(&mut self.message, Message::new());
        let own = match self.ports.is_separate {
            true => self.label(node),
            false => self.colors.forward.get(node).copied().unwrap_or_default(),
        };
        message.begin("backward").digest(own).digest(self.site(record.graph()));
        for &output in record.outputs().iter().flatten() {
            self.uses_of(output, record.graph(), &mut message);
        }
        let color = message.finish();
        self.message = message;
        color
    }

    fn site(&self, graph: GraphId) -> Digest {
        self.sites.get(graph).copied().unwrap_or_default()
    }

    /// Adds the uses of a value.
    fn uses_of(&mut self, value: ValueId, definition: GraphId, message: &mut Message) {
        let mut uses = std::mem::take(&mut self.uses);
        uses.clear();
        for at in self.model.value(value).uses() {
            let port = u64::from(at.index);
            match at.user {
                User::Node(user) => {
                    // Nodes of detached graphs have no color.
                    let Some(&color) = self.colors.backward.get(user) else { continue };
                    let level = self.between(definition, self.model.node(user).graph());
                    uses.push((1, level, port, color));
                }
                // The label of the user has the name.
                User::Attribute(_) => {}
                User::Graph(graph) => {
                    let Some(&site) = self.sites.get(graph) else { continue };
                    let ports = self.ports.outputs.get(graph);
                    let port = ports.and_then(|ports| ports.get(at.index as usize)).copied().unwrap_or(port);
                    uses.push((2, self.between(definition, graph), port, site));
                }
            }
        }
        uses.extend(self.bound.get(value).into_iter().flatten());
        uses.sort_unstable();
        message.count(uses.len());
        for &(kind, level, port, color) in &uses {
            message.byte(kind).signed(level).number(port).digest(color);
        }
        self.uses = uses;
    }

    /// What graphs without an owner return, the uses of initializers, and bindings.
    fn rest(&mut self, graphs: &[GraphId], watch: &mut Watch) -> Result<(), Stopped> {
        let model = self.model;
        let mut message = std::mem::replace(&mut self.message, Message::new());
        for &graph in graphs {
            for value in model.initializers(graph) {
                watch.work(1)?;
                let label = self.colors.constants.get(value).copied().unwrap_or_default();
                message.begin("used").digest(label).digest(self.site(graph));
                self.uses_of(value, graph, &mut message);
                self.colors.used.insert(value, message.finish());
            }
            if matches!(model.graph(graph).owner(), Owner::Node(_)) {
                continue;
            }
            let outputs = model.graph(graph).outputs().iter().map(|output| {
                message.begin("output");
                self.reference(output.value(), graph, &mut message);
                message.finish()
            });
            let outputs = outputs.collect();
            self.colors.outputs.insert(graph, outputs);
        }
        for training in &model.info().training {
            for binding in training.initialization_binding.iter().chain(&training.update_binding) {
                let color = self.binding(binding, &mut message);
                self.colors.bindings.push(color);
            }
        }
        self.message = message;
        Ok(())
    }

    fn binding(&self, binding: &Binding, message: &mut Message) -> Digest {
        message.begin("binding");
        for value in [binding.key, binding.value] {
            match value {
                ValueRef::Value(value) if self.model.get_value(value).is_some() => {
                    self.reference(value, self.model.main_graph(), message);
                }
                ValueRef::Value(_) => _ = message.byte(0),
                ValueRef::Name(name) => _ = message.byte(4).text(self.model.str(name).as_bytes()),
            }
        }
        message.finish()
    }
}

/// The graphs nested in a node, by attribute in the order of names and by element.
pub(crate) fn nested(model: &Model, node: NodeId) -> Vec<(Symbol, usize, GraphId)> {
    let mut nested = Vec::new();
    for attribute in model.node(node).attributes() {
        let graphs = attribute.value().graphs().iter().enumerate();
        let graphs = graphs.filter(|(_, graph)| model.get_graph(**graph).is_some());
        nested.extend(graphs.map(|(element, &graph)| (attribute.name(), element, graph)));
    }
    nested.sort_by_key(|&(name, element, _)| (model.str(name), element));
    nested
}
