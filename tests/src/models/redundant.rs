//! Models with something to do for each common pass.

use bytes::Bytes;

use super::write::{FLOAT, Graph, Size, Ty, tensor_attribute};

/// Dimensions of everything that flows through the blocks.
const SHAPE: &[Size] = &[Size::Var("batch"), Size::Known(16)];

/// Nodes per block.
pub const NODES_PER_BLOCK: usize = 10;

/// Number of different weights and constants: all others are equal to one of them.
const DIFFERENT: usize = 8;

/// Blocks of [`NODES_PER_BLOCK`] nodes, at least `nodes` in total, with an `Identity`, two equal nodes, one that nothing uses,
/// a `Constant` node and two weights, one of them unused; most constants and weights have equal elements, and each node
/// has documentation.
#[must_use]
pub fn redundant(nodes: usize) -> Bytes {
    let mut graph = Graph::with_capacity(nodes);
    let ty = Ty::new(FLOAT, SHAPE);
    graph.input("input", ty);
    let mut last = "input".to_owned();
    for index in 0..nodes.div_ceil(NODES_PER_BLOCK) {
        last = block(&mut graph, index, &last);
    }
    graph.output(&last, ty);
    graph.model(&[("", 17), ("ai.onnx.ml", 3)], |_| ()).into_bytes()
}

/// Sixteen floats, which depend on the number of a block.
fn elements(index: usize) -> Bytes {
    let numbers = (0..16).map(|place| 0.5 + ((index + place) % DIFFERENT) as f32 / 16.0);
    numbers.flat_map(f32::to_le_bytes).collect::<Vec<u8>>().into()
}

/// Writes one block; returns the name of what it makes.
fn block(graph: &mut Graph, index: usize, input: &str) -> String {
    let name = |part: &str| format!("/blocks.{index}/{part}");
    let output = |part: &str| format!("/blocks.{index}/{part}_output_0");
    let documented = |graph: &mut Graph, op: &str, part: &str, inputs: &[&str]| {
        let made = output(part);
        graph.node_with(op, &name(part), inputs, &[&made], |node| node.string(6, "made by a generator"));
        made
    };
    let [weight, unused] = ["weight", "unused"].map(|part| format!("blocks.{index}.{part}"));
    for name in [&weight, &unused] {
        graph.initializer(name, FLOAT, &[16], &elements(index));
    }
    let positive = documented(graph, "Relu", "Relu", &[input]);
    let same = documented(graph, "Identity", "Identity", &[&positive]);
    let first = documented(graph, "Neg", "Neg", &[&same]);
    let second = documented(graph, "Neg", "Neg_1", &[&same]);
    let sum = documented(graph, "Add", "Add", &[&first, &second]);
    let constant = output("Constant");
    graph.node_with("Constant", &name("Constant"), &[], &[&constant], |node| {
        tensor_attribute(node, "value", FLOAT, &[16], &elements(index + 1));
    });
    let product = documented(graph, "Mul", "Mul", &[&sum, &constant]);
    documented(graph, "Exp", "Exp", &[&product]);
    let shares = documented(graph, "Softmax", "Softmax", &[&product]);
    documented(graph, "Add", "Add_1", &[&shares, &weight])
}
