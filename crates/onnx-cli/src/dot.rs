//! `onnx print --to dot`: a graph, or some of its nodes, for Graphviz.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use onnx_ir::{Def, GraphId, Model, NodeId, ValueId};
use onnx_shape_infer::Inference;

use crate::info::types;
use crate::output::clean_lines;

/// A picture of these nodes, with the values that connect them and those at their border.
pub(crate) fn text(model: &Model, inference: &Inference, graph: GraphId, nodes: &[NodeId]) -> String {
    let mut drawing = Drawing { model, inference, ids: HashMap::new(), text: String::new() };
    let is_drawn: HashSet<NodeId> = nodes.iter().copied().collect();
    drawing.line("digraph onnx {");
    drawing.line("  node [shape=box, style=rounded, fontname=\"sans-serif\"];");
    drawing.line("  edge [fontname=\"sans-serif\", fontsize=10];");
    for &node in nodes {
        drawing.node(node);
    }
    let outputs: HashSet<ValueId> =
        model.graph(graph).outputs().iter().map(|output| output.value()).collect();
    for &node in nodes {
        for operand in model.node(node).used_values() {
            match model.value(operand).def() {
                Def::Output { node: maker, .. } if is_drawn.contains(&maker) => {
                    let from = drawing.id_of_node(maker);
                    let to = drawing.id_of_node(node);
                    drawing.edge(&from, &to, operand);
                }
                // Weights would hide the graph.
                _ if model.value(operand).initializer().is_some() => {}
                _ => {
                    let from = drawing.border(operand);
                    let to = drawing.id_of_node(node);
                    drawing.edge(&from, &to, operand);
                }
            }
        }
        for &output in model.node(node).outputs().iter().flatten() {
            if outputs.contains(&output) {
                let from = drawing.id_of_node(node);
                let to = drawing.border(output);
                drawing.edge(&from, &to, output);
            }
        }
    }
    drawing.line("}");
    drawing.text
}

/// What has a number in the picture.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Drawn {
    Node(NodeId),
    /// An input or an output, or a value from outside of what is drawn.
    Border(ValueId),
}

struct Drawing<'a> {
    model: &'a Model,
    inference: &'a Inference,
    /// Numbers of nodes and border values in the order in which they are drawn.
    ids: HashMap<Drawn, usize>,
    text: String,
}

impl Drawing<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn number(&mut self, key: Drawn) -> (usize, bool) {
        let next = self.ids.len();
        let is_new = !self.ids.contains_key(&key);
        (*self.ids.entry(key).or_insert(next), is_new)
    }

    fn id_of_node(&mut self, node: NodeId) -> String {
        format!("n{}", self.number(Drawn::Node(node)).0)
    }

    fn node(&mut self, node: NodeId) {
        let id = self.id_of_node(node);
        let record = self.model.node(node);
        let identity = (record.domain(), record.op(), record.overload());
        let mut label = crate::change::identity(self.model, identity);
        if !record.name().is_empty() {
            let _ = write!(label, "\n{}", self.model.str(record.name()));
        }
        let label = quoted(&label);
        self.line(&format!("  {id} [label={label}];"));
    }

    /// An input or an output, or a value from outside of what is drawn; drawn once.
    fn border(&mut self, value: ValueId) -> String {
        let (number, is_new) = self.number(Drawn::Border(value));
        let id = format!("n{number}");
        if is_new {
            let name = quoted(self.model.str(self.model.value(value).name()));
            self.line(&format!("  {id} [label={name}, shape=ellipse, style=dashed];"));
        }
        id
    }

    fn edge(&mut self, from: &str, to: &str, value: ValueId) {
        let label = quoted(&types::inferred(self.model, self.inference, value));
        self.line(&format!("  {from} -> {to} [label={label}];"));
    }
}

/// A string of the language of Graphviz, in which `\n` ends a line.
fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| clean_lines(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
