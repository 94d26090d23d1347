//! Many nested graphs, and many functions.

use bytes::Bytes;
use onnx_proto::wire::Writer;

use super::write::{BOOL, FLOAT, Graph, Size, Ty, graph_attribute, node_fields, opset_import};

const SHAPE: &[Size] = &[Size::Var("batch"), Size::Known(16)];

/// The domain of the functions.
const DOMAIN: &str = "local.functions";

/// A chain of `If` nodes with `graphs` nested graphs in total, rounded up to an even number: each branch is one node
/// that captures the output of the previous `If`.
#[must_use]
pub fn subgraphs(graphs: usize) -> Bytes {
    let count = graphs.div_ceil(2);
    let mut main = Graph::with_capacity(count * 3);
    let ty = Ty::new(FLOAT, SHAPE);
    main.input("condition", Ty::new(BOOL, &[]));
    main.input("input", ty);
    let mut last = "input".to_owned();
    for index in 0..count {
        let name = format!("/blocks.{index}/If");
        let output = format!("{name}_output_0");
        let branch = |op: &str| {
            let mut graph = Graph::default();
            let made = format!("{name}/{op}_output_0");
            graph.node(op, &format!("{name}/{op}"), &[&last], &[&made]);
            graph.output(&made, ty);
            graph
        };
        let (then_branch, else_branch) = (branch("Relu"), branch("Neg"));
        main.node_with("If", &name, &["condition"], &[&output], |node| {
            graph_attribute(node, "then_branch", &format!("then_{index}"), then_branch);
            graph_attribute(node, "else_branch", &format!("else_{index}"), else_branch);
        });
        last = output;
    }
    main.output(&last, ty);
    main.model(&[("", 17)], |_| ()).into_bytes()
}

/// A model with `count` functions of three nodes each, which a chain of nodes calls in sequence.
#[must_use]
pub fn functions(count: usize) -> Bytes {
    let mut main = Graph::with_capacity(count);
    let ty = Ty::new(FLOAT, SHAPE);
    main.input("input", ty);
    let mut last = "input".to_owned();
    for index in 0..count {
        let output = format!("/call.{index}_output_0");
        main.call(DOMAIN, &format!("block_{index}"), &format!("/call.{index}"), &last, &output);
        last = output;
    }
    main.output(&last, ty);
    let opsets = [("", 17), (DOMAIN, 1)];
    main.model(&opsets, |model| (0..count).for_each(|index| function(model, index))).into_bytes()
}

fn function(model: &mut Writer, index: usize) {
    model.message(25, |function| {
        function.string(1, &format!("block_{index}"));
        function.string(4, "x");
        function.string(5, "y");
        for (op, name, inputs, output) in [
            ("Relu", "relu", &["x"][..], "positive"),
            ("Neg", "neg", &["x"][..], "negative"),
            ("Add", "add", &["positive", "negative"][..], "y"),
        ] {
            function.message(7, |node| node_fields(node, op, name, inputs, &[output]));
        }
        opset_import(function, 9, "", 17);
        function.string(10, DOMAIN);
    });
}
