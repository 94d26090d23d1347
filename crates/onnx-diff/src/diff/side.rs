//! One of the two models, with the digests by which its parts are matched.

use onnx_ir::{FunctionId, GraphId, Model, NodeId, Owner, Places, ValueId};
use onnx_types::tensor::DataSource;
use onnx_types::{Execution, Stopped, Watch};
use slotmap::SecondaryMap;

use crate::hash::{Colors, Contents, Digest, Labels, Message, Ports};

/// Nodes between two checks of the interrupt.
const INTERVAL: u64 = 256;

/// A model with its digests.
pub(crate) struct Side<'a> {
    pub(crate) model: &'a Model,
    pub(crate) source: &'a dyn DataSource,
    pub(crate) places: Places<'a>,
    /// Digests of elements, unless weights are not read.
    pub(crate) contents: Option<Contents>,
    /// Colors with and without elements of tensors, or only the latter.
    pub(crate) colors: Vec<Colors>,
    /// The operators of nodes.
    pub(crate) operators: SecondaryMap<NodeId, Digest>,
    /// The key of the root of a graph: equal for roots that correspond.
    pub(crate) roots: SecondaryMap<GraphId, u64>,
    /// All graphs, outer ones first.
    pub(crate) graphs: Vec<GraphId>,
}

impl<'a> Side<'a> {
    pub(crate) fn new(
        model: &'a Model,
        source: &'a dyn DataSource,
        ports: &Ports,
        contents: Option<Contents>,
        execution: &Execution,
    ) -> Result<Self, Stopped> {
        let mut colors = Vec::new();
        if let Some(contents) = &contents {
            colors.push(Colors::of(Labels { model, contents: Some(contents) }, ports, execution)?);
        }
        colors.push(Colors::of(Labels { model, contents: None }, ports, execution)?);
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        let mut side = Self {
            model,
            source,
            places: Places::new(model),
            contents,
            colors,
            operators: SecondaryMap::with_capacity(model.node_count()),
            roots: SecondaryMap::new(),
            graphs,
        };
        let mut message = Message::new();
        let mut watch = Watch::silent(&execution.interrupt, INTERVAL);
        for &graph in &side.graphs {
            let outer = match model.graph(graph).owner() {
                Owner::Node(node) => side.roots.get(model.node(node).graph()).copied(),
                _ => ports.graphs.get(graph).copied(),
            };
            side.roots.insert(graph, outer.unwrap_or_default());
            for node in model.nodes(graph) {
                watch.work(1)?;
                let record = model.node(node);
                message.begin("operator");
                for name in [record.domain(), record.op(), record.overload()] {
                    message.text(model.str(name).as_bytes());
                }
                side.operators.insert(node, message.finish());
            }
        }
        Ok(side)
    }

    /// Labels with elements, if they were read.
    pub(crate) const fn labels(&self) -> Labels<'_> {
        Labels { model: self.model, contents: self.contents.as_ref() }
    }

    pub(crate) fn root(&self, graph: GraphId) -> u64 {
        self.roots.get(graph).copied().unwrap_or_default()
    }

    /// Nodes of all graphs in order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.graphs.iter().flat_map(|&graph| self.model.nodes(graph))
    }

    /// Initializers of all graphs, defaults of inputs included, with their graphs.
    pub(crate) fn initializers(&self) -> impl Iterator<Item = (GraphId, ValueId)> + '_ {
        self.graphs.iter().flat_map(|&graph| self.model.initializers(graph).map(move |value| (graph, value)))
    }

    /// Text for a value: its name, or the text of the node that produces it.
    pub(crate) fn value(&self, value: ValueId) -> String {
        let record = self.model.value(value);
        match self.model.str(record.name()) {
            "" => self.model.show_value(value).to_string(),
            name => name.to_owned(),
        }
    }

    pub(crate) fn operand(&self, value: Option<ValueId>) -> String {
        value.map_or_else(String::new, |value| self.value(value))
    }

    /// The operator that a node calls: `Relu`, `com.acme.Block:overload`.
    pub(crate) fn operator(&self, node: NodeId) -> String {
        let record = self.model.node(node);
        let [domain, op, overload] =
            [record.domain(), record.op(), record.overload()].map(|name| self.model.str(name));
        qualified(domain, op, overload)
    }

    /// Text for a node: its operator with operands and results.
    pub(crate) fn node(&self, node: NodeId) -> String {
        let record = self.model.node(node);
        let list = |values: &mut dyn Iterator<Item = Option<ValueId>>| {
            let mut texts: Vec<String> =
                values.take(MOST.saturating_add(1)).map(|value| self.operand(value)).collect();
            if texts.len() > MOST {
                texts.pop();
                texts.push("…".to_owned());
            }
            texts.join(", ")
        };
        let inputs = list(&mut record.inputs());
        let outputs = list(&mut record.outputs().iter().copied());
        format!("{}({inputs}) -> {outputs}", self.operator(node))
    }

    pub(crate) fn function(&self, function: FunctionId) -> String {
        let record = self.model.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|name| self.model.str(name));
        qualified(domain, name, overload)
    }
}

/// The most operands that the text of a node has.
const MOST: usize = 8;

fn qualified(domain: &str, name: &str, overload: &str) -> String {
    let mut text = if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") };
    if !overload.is_empty() {
        text.push(':');
        text.push_str(overload);
    }
    text
}
