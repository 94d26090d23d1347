//! Reading operators through typed views, against reading attributes by name.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::stop;
use onnx_ir::{Attribute, Model, NewNode, NodeId, OpsetImport, Position};
use onnx_ops::{Operator, ops};
use onnx_schema::{attr, domain, op};
use onnx_types::Symbol;

/// How many nodes one iteration reads.
const NODES: usize = 1000;

/// Convolutions with five attributes.
fn convolutions() -> (Model, Vec<NodeId>) {
    let mut model = Model::new();
    model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 22));
    let graph = model.main_graph();
    let [x, w] = ["x", "w"].map(|name| model.add_graph_input(graph, name, None));
    let make = |model: &mut Model| {
        let output = model.new_value(Symbol::EMPTY);
        let node = NewNode::new(op::CONV)
            .inputs([x, w])
            .outputs([output])
            .attribute(Attribute::new(attr::DILATIONS, vec![1_i64, 1]))
            .attribute(Attribute::new(attr::GROUP, 1_i64))
            .attribute(Attribute::new(attr::KERNEL_SHAPE, vec![3_i64, 3]))
            .attribute(Attribute::new(attr::PADS, vec![1_i64, 1, 1, 1]))
            .attribute(Attribute::new(attr::STRIDES, vec![2_i64, 2]));
        model.add_node(Position::End(graph), node)
    };
    let nodes = (0..NODES).map(|_| make(&mut model)).collect::<Result<_, _>>();
    (model, nodes.unwrap_or_else(|error| stop(&error)))
}

fn views(criterion: &mut Criterion) {
    let (model, nodes) = convolutions();
    let mut group = criterion.benchmark_group("ops");
    group.throughput(Throughput::Elements(NODES as u64));
    group.bench_function("node.int", |bencher| {
        bencher.iter(|| {
            nodes.iter().filter_map(|&node| black_box(&model).node(node).int(attr::GROUP)).sum::<i64>()
        });
    });
    group.bench_function("view and first attribute", |bencher| {
        bencher.iter(|| {
            let group = |&node: &NodeId| ops::Conv::of(black_box(&model), node)?.group().known();
            nodes.iter().filter_map(group).sum::<i64>()
        });
    });
    let views: Vec<_> = nodes.iter().filter_map(|&node| ops::Conv::of(&model, node)).collect();
    assert_eq!(views.len(), NODES, "every node is a convolution");
    group.bench_function("attribute of a view", |bencher| {
        bencher.iter(|| views.iter().filter_map(|view| black_box(view).group().known()).sum::<i64>());
    });
    group.finish();
}

criterion_group!(benches, views);
criterion_main!(benches);
