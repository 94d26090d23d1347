//! Parts of a model that stand alone, as the reference looks at them: what is around them is not there, so nothing is
//! said of names that they use and of functions that they call.

use onnx_ir::NodeId;

use super::Run;
use crate::cx::{GraphCx, TensorHolder};
use crate::declared::{Holder, MetadataList};
use crate::imports::Imports;
use crate::options::Part;
use crate::rules::graph;

/// The number of the imports around a part; that of the model itself stands for imports whose absence the model answers for.
const AROUND: u32 = 1;

impl Run<'_, '_> {
    /// Everything about a part.
    pub(super) fn alone(&mut self, part: Part) {
        let model = self.cx.model;
        let imports = Imports::new(&model.info().opset_imports, AROUND);
        match part {
            Part::Model => {}
            Part::Graph => self.graph(model.main_graph(), &imports),
            Part::Function(function) => self.function(function, AROUND),
            Part::Node(node) => self.node_alone(node, &imports),
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
            Part::Inputs => self.inputs_alone(),
        }
    }

    fn node_alone(&mut self, id: NodeId, imports: &Imports) {
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

    fn inputs_alone(&mut self) {
        let model = self.cx.model;
        let id = model.main_graph();
        let record = model.graph(id);
        graph::check_names(&mut GraphCx { cx: &mut self.cx, id, graph: record });
        for &input in record.inputs() {
            self.metadata(MetadataList::Symbols(model.value(input).metadata()), Holder::Value(input));
        }
        self.types(id, true);
    }
}

#[cfg(test)]
mod tests {
    use onnx_ir::NodeId;

    use crate::testing::Builder;
    use crate::{CheckOptions, Part, check_part};

    /// Checks a part of the model that `build` makes, and compares code, place and whether it is beyond the reference.
    #[track_caller]
    fn check_alone(build: impl FnOnce(&mut Builder) -> Part, expected: &[(&str, &str, bool)]) {
        let mut m = Builder::new();
        let part = build(&mut m);
        m.model.mark_names_clean();
        let found = check_part(&m.model, part, &CheckOptions::default()).into_diagnostics();
        let found: Vec<_> =
            found.iter().map(|one| (one.rule.slug, one.locus.to_string(), one.beyond_reference)).collect();
        let found: Vec<_> =
            found.iter().map(|(slug, place, is_beyond)| (*slug, &**place, *is_beyond)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_node_alone_may_use_any_name() {
        check_alone(|m| Part::Node(m.node("y = Relu (x)")), &[]);
        check_alone(|m| Part::Node(m.node("y = Rellu (x)")), &[("unknown-operator", "node #0 Rellu", false)]);
        let own: fn(&mut Builder) -> NodeId = |m| m.node("y = Relu (y)");
        check_alone(|m| Part::Node(own(m)), &[("node-not-sorted", r#"node #0 Relu / input 0 "y""#, true)]);
    }

    #[test]
    fn an_operator_set_has_to_be_around_a_node() {
        let model = |m: &mut Builder| {
            m.no_imports();
            Part::Node(m.node("y = Relu (x)"))
        };
        check_alone(model, &[("domain-not-imported", "node #0 Relu", false)]);
    }

    #[test]
    fn attributes_alone_need_no_operator() {
        check_alone(|m| Part::Attributes(m.node("y = Frob <alpha = 1.0> (x)")), &[]);
    }

    #[test]
    fn inputs_alone_need_a_type() {
        let model = |m: &mut Builder| {
            m.inputs(["x"]);
            m.typed("x", None);
            Part::Inputs
        };
        check_alone(model, &[("type-incomplete", r#"input 0 "x" / type"#, false)]);
    }
}
