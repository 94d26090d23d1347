//! Nodes that compute the same from the inputs, except for the elements of weights.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Callee, Def, Model, NodeId, TensorHolder, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::tensor::Tensor;
use slotmap::SecondaryMap;

use super::side::Side;
use crate::hash::{Digest, Labels, Message, Ports, given};

/// The least number of elements of a weight. Smaller constants, such as factors, say what a node computes.
const LEAST: u64 = 8;
/// The most elements of a constant that are compared.
const MOST: u64 = 1 << 16;

/// The nodes of the main graphs that are the only ones of their models with an operator, attributes and operands that correspond:
/// inputs, weights of one type and shape, other constants that are equal, and results of nodes that have this property, too.
pub(super) fn forms(a: &Side<'_>, b: &Side<'_>, ports: &[Ports; 2]) -> Vec<(NodeId, NodeId)> {
    let (one, two) = (unique(a, &ports[0]), unique(b, &ports[1]));
    let pairs = one.iter().filter_map(|(form, node)| Some(((*node)?, (*two.get(form)?)?)));
    let mut pairs: Vec<(NodeId, NodeId)> = pairs.collect();
    // In the order of the first model, not in that of the table.
    pairs.sort_unstable();
    pairs
}

/// The nodes by their forms; `None` where several have one.
fn unique(side: &Side<'_>, ports: &Ports) -> HashMap<Digest, Option<NodeId>, RandomState> {
    let nodes = side.model.sorted_nodes(side.model.main_graph()).unwrap_or_default();
    let mut forms = Forms {
        side,
        ports,
        of_nodes: SecondaryMap::new(),
        of_values: SecondaryMap::new(),
        repeated: repeated_values(side.model, &nodes),
        message: Message::new(),
    };
    let mut found = HashMap::default();
    for node in nodes {
        let Some(form) = forms.of_node(node) else { continue };
        forms.of_nodes.insert(node, form);
        found.entry(form).and_modify(|entry| *entry = None).or_insert(Some(node));
    }
    found
}

/// The values that the results of `Identity` nodes repeat, behind chains of them. Nodes are given in the order of execution.
#[must_use]
pub fn repeated_values(model: &Model, nodes: &[NodeId]) -> HashMap<ValueId, ValueId> {
    let mut found = HashMap::new();
    for &node in nodes {
        let record = model.node(node);
        if let (true, Some(of), Some(result)) = (record.is(op::IDENTITY), record.input(0), record.output(0)) {
            found.insert(result, found.get(&of).copied().unwrap_or(of));
        }
    }
    found
}

struct Forms<'a> {
    side: &'a Side<'a>,
    ports: &'a Ports,
    of_nodes: SecondaryMap<NodeId, Digest>,
    /// Those of operands, which many nodes may read.
    of_values: SecondaryMap<ValueId, Option<Digest>>,
    repeated: HashMap<ValueId, ValueId>,
    message: Message,
}

impl Forms<'_> {
    /// The value that a value repeats, or itself.
    fn repeats(&self, value: ValueId) -> ValueId {
        self.repeated.get(&value).copied().unwrap_or(value)
    }

    /// `None` if a node has none: constants, results of chance, and nodes with graphs, whose operands are inside.
    fn of_node(&mut self, node: NodeId) -> Option<Digest> {
        let model = self.side.model;
        let record = model.node(node);
        let is_graph = |value: &AttrValue| matches!(value, AttrValue::Graph(_) | AttrValue::Graphs(_));
        let has_graph = record.attributes().iter().any(|attribute| is_graph(attribute.value()));
        if has_graph || record.is(op::CONSTANT) || is_random(model, node) {
            return None;
        }
        let mut operands = Vec::new();
        for input in record.inputs() {
            operands.push(input.map_or(Some(Digest::default()), |value| self.of_value(value))?);
        }
        // A bias of zeros is left out by some exporters.
        let has_bias = [op::CONV, op::CONV_TRANSPOSE, op::GEMM].iter().any(|&op| record.is(op));
        if has_bias && record.input(2).is_some_and(|bias| self.is_weight(bias)) {
            operands.truncate(2);
        }
        while operands.last() == Some(&Digest::default()) {
            operands.pop();
        }
        let schema = match model.callee(node, Registry::STANDARD) {
            Callee::Standard(schema) => Some(schema),
            _ => None,
        };
        let labels = Labels { model, contents: None };
        let message = self.message.begin("form");
        for name in [record.domain(), record.op(), record.overload()] {
            labels.name(name, message);
        }
        message.count(operands.len());
        operands.into_iter().for_each(|operand| _ = message.digest(operand));
        for (position, attribute) in given(model, record.attributes(), schema) {
            labels.attribute(TensorHolder::Attribute(node, position), attribute, message);
        }
        Some(message.finish())
    }

    fn is_weight(&self, value: ValueId) -> bool {
        self.side.model.constant_tensor(self.repeats(value)).is_some_and(is_weight)
    }

    fn of_value(&mut self, value: ValueId) -> Option<Digest> {
        let value = self.repeats(value);
        if let Some(&known) = self.of_values.get(value) {
            return known;
        }
        let form = self.form_of(value);
        self.of_values.insert(value, form);
        form
    }

    fn form_of(&mut self, value: ValueId) -> Option<Digest> {
        let model = self.side.model;
        let record = model.value(value);
        let producer = record.producer();
        if let Some(tensor) = producer.and_then(|node| model.node(node).constant_tensor()) {
            return self.of_constant(&tensor);
        }
        match record.def() {
            Def::Input { .. } => {
                let port = *self.ports.inputs.get(value)?;
                Some(self.message.begin("input").number(port).finish())
            }
            Def::Initializer(_) => self.of_constant(model.constant_tensor(value)?),
            Def::Output { node, index } => {
                let form = *self.of_nodes.get(node)?;
                Some(self.message.begin("result").digest(form).number(index.into()).finish())
            }
            Def::Unresolved(_) => None,
        }
    }

    fn of_constant(&mut self, tensor: &Tensor) -> Option<Digest> {
        let count = tensor.element_count()?;
        let message = self.message.begin("constant").signed(tensor.elem().code().into());
        message.count(tensor.dims().len());
        tensor.dims().iter().for_each(|&dim| _ = message.signed(dim));
        if is_weight(tensor) {
            return Some(message.finish());
        }
        if count > MOST {
            return None;
        }
        match tensor.iter_i64(self.side.source) {
            Ok(elements) => elements.for_each(|element| _ = message.byte(0).signed(element)),
            Err(_) => {
                let elements = tensor.iter_f64(self.side.source).ok()?;
                elements.for_each(|element| _ = message.byte(1).number(element.to_bits()));
            }
        }
        Some(message.finish())
    }
}

fn is_weight(tensor: &Tensor) -> bool {
    tensor.elem().is_float() && tensor.element_count().is_some_and(|count| count >= LEAST)
}

/// Whether results of a node depend on chance.
fn is_random(model: &Model, node: NodeId) -> bool {
    let op = model.str(model.node(node).op());
    op.starts_with("Random") || matches!(op, "Bernoulli" | "Multinomial")
}
