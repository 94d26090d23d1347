//! Long chains, and one value with many uses.

use bytes::Bytes;

use super::write::{FLOAT, Graph, Size, Ty};

/// Dimensions of everything that flows through the chains.
const SHAPE: &[Size] = &[Size::Var("batch"), Size::Known(16)];

/// A chain of `nodes` nodes, alternating `Relu` and `Add`. Each `Add` also uses the output of the node before the last,
/// so that values have one or two uses.
#[must_use]
pub fn chain(nodes: usize) -> Bytes {
    let mut graph = Graph::with_capacity(nodes);
    let ty = Ty::new(FLOAT, SHAPE);
    graph.input("input", ty);
    let (mut before, mut last) = ("input".to_owned(), "input".to_owned());
    for index in 0..nodes {
        let op = if index % 2 == 0 { "Relu" } else { "Add" };
        let name = format!("/layers.{index}/{op}");
        let output = if index + 1 == nodes { "output".to_owned() } else { format!("{name}_output_0") };
        match op {
            "Relu" => graph.node(op, &name, &[&last], &[&output]),
            _ => graph.node(op, &name, &[&last, &before], &[&output]),
        }
        before = std::mem::replace(&mut last, output);
    }
    graph.output(&last, ty);
    graph.model(&[("", 17)], |_| ()).into_bytes()
}

/// A model whose first node's output, the value `hub`, is used by `uses` nodes, each of which adds it to the sum so
/// far.
#[must_use]
pub fn fan_out(uses: usize) -> Bytes {
    let mut graph = Graph::with_capacity(uses + 1);
    let ty = Ty::new(FLOAT, SHAPE);
    graph.input("input", ty);
    graph.node("Relu", "/hub/Relu", &["input"], &["hub"]);
    let mut sum = "input".to_owned();
    for index in 0..uses {
        let name = format!("/sum.{index}/Add");
        let output = format!("{name}_output_0");
        graph.node("Add", &name, &["hub", &sum], &[&output]);
        sum = output;
    }
    graph.output(&sum, ty);
    graph.model(&[("", 17)], |_| ()).into_bytes()
}
