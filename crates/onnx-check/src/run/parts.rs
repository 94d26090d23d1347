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

impl Run<'_, '_> {
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
    fn check_standalone(build: impl FnOnce(&mut Builder) -> Part, expected: &[(&str, &str, bool)]) {
        let mut m = Builder::new();
        let part = build(&mut m);
        let found = check_part(&m.model.finish(), part, &CheckOptions::default()).into_diagnostics();
        let found: Vec<_> =
            found.iter().map(|one| (one.rule.slug, one.locus.to_string(), one.beyond_reference)).collect();
        let found: Vec<_> =
            found.iter().map(|(slug, place, is_beyond)| (*slug, &**place, *is_beyond)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_node_alone_may_use_any_name() {
        check_standalone(|m| Part::Node(m.node("y = Relu (x)")), &[]);
        check_standalone(
            |m| Part::Node(m.node("y = Rellu (x)")),
            &[("unknown-operator", "node #0 Rellu", false)],
        );
        let own: fn(&mut Builder) -> NodeId = |m| m.node("y = Relu (y)");
        check_standalone(
            |m| Part::Node(own(m)),
            &[("node-not-sorted", r#"node #0 Relu / input 0 "y""#, true)],
        );
    }

    #[test]
    fn an_operator_set_has_to_be_around_a_node() {
        let model = |m: &mut Builder| {
            m.no_imports();
            Part::Node(m.node("y = Relu (x)"))
        };
        check_standalone(model, &[("domain-not-imported", "node #0 Relu", false)]);
    }

    #[test]
    fn attributes_alone_need_no_operator() {
        check_standalone(|m| Part::Attributes(m.node("y = Frob <alpha = 1.0> (x)")), &[]);
    }

    #[test]
    fn inputs_alone_need_a_type() {
        let model = |m: &mut Builder| {
            m.inputs(["x"]);
            m.typed("x", None);
            Part::Inputs
        };
        check_standalone(model, &[("type-incomplete", r#"input 0 "x" / type"#, false)]);
    }
}
