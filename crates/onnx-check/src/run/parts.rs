//! Checks parts in isolation, as the reference does: enclosing scopes are unavailable, so unresolved names and unknown
//! functions are not reported.

use onnx_ir::NodeId;

use super::Run;
use crate::cx::{GraphCx, TensorHolder};
use crate::declaration_cx::{Holder, MetadataList};
use crate::imports::Imports;
use crate::options::Part;
use crate::rules::graph;

/// The identifier of the imports of a part, distinct from that of the model, whose missing imports have a rule.
const AROUND: u32 = 1;

impl Run<'_> {
    /// Checks a part.
    pub(super) fn part(&mut self, part: Part) {
        let model = self.cx.model;
        let imports = Imports::new(&model.info().opset_imports, AROUND);
        match part {
            Part::Model => {}
            Part::Graph => self.graph(model.main_graph(), &imports),
            Part::Function(function) => self.function(function, AROUND),
            Part::Node(node) => self.standalone_node(node, &imports),
            Part::Attributes(node) => {
                let mark = self.names.enter();
                self.attributes(node, model.node(node), None);
                self.nested(node, &imports);
                self.names.leave(mark);
            }
            Part::Contents(node) => {
                for attribute in model.node(node).attributes() {
                    self.contents_of(TensorHolder::Attribute(node, attribute.name()), attribute);
                }
            }
            Part::Inputs => self.standalone_inputs(),
        }
    }

    fn standalone_node(&mut self, id: NodeId, imports: &Imports) {
        let mark = self.names.enter();
        let was_unchecked = self.cx.is_unchecked;
        self.node(id, imports);
        self.nested(id, imports);
        // The reference compares what a node defines with what is around it, and here is nothing.
        self.cx.is_unchecked = true;
        self.outputs(id);
        self.cx.is_unchecked = was_unchecked;
        self.names.leave(mark);
    }

    /// The graphs nested in a node.
    fn nested(&mut self, id: NodeId, imports: &Imports) {
        for graph in self.cx.model.node(id).nested_graphs() {
            self.graph(graph, imports);
        }
    }

    fn standalone_inputs(&mut self) {
        let model = self.cx.model;
        let id = model.main_graph();
        let record = model.graph(id);
        graph::check_names(&mut GraphCx { cx: &mut self.cx, id, graph: record });
        for &input in record.inputs() {
            self.metadata(MetadataList::Symbols(model.value(input).metadata()), Holder::Value(input));
        }
        self.types(id);
    }
}
