//! Inferring types and shapes of models, nested and flat ones.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::{decode, edits};
use onnx_shape_infer::{InferOptions, infer};
use onnx_tests::models::{Transformer, chain, functions, subgraphs};
use onnx_types::Symbol;

fn inference(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("infer");
    group.sample_size(10);
    for (name, bytes) in [
        ("chain 1000", chain(1_000)),
        ("chain 10000", chain(10_000)),
        ("chain 100000", chain(100_000)),
        ("transformer 10000", Transformer::with_nodes(10_000).build()),
        ("transformer 100000", Transformer::with_nodes(100_000).build()),
        ("subgraphs 10000", subgraphs(10_000)),
        ("functions 2500", functions(2_500)),
    ] {
        let model = decode(bytes);
        group.throughput(Throughput::Elements(model.node_count() as u64));
        let options = InferOptions::default();
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || model.clone(),
                |model| infer(black_box(model), &options),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Inferring again after one edit: the time should not depend on the model.
fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("infer/update");
    for (name, bytes) in [
        ("chain 1000", chain(1_000)),
        ("chain 100000", chain(100_000)),
        ("transformer 1000", Transformer::with_nodes(1_000).build()),
        ("transformer 100000", Transformer::with_nodes(100_000).build()),
    ] {
        let mut model = decode(bytes);
        let options = InferOptions::default();
        let mut revision = model.revision();
        let mut inference = infer(&model, &options);
        let Some(&node) = edits::window(&model, 1).first() else { continue };
        let (op, neg) = (model.node(node).op(), onnx_schema::op::NEG);
        let mut is_neg = false;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                is_neg = !is_neg;
                model.set_op(node, Symbol::EMPTY, if is_neg { neg } else { op }, Symbol::EMPTY);
                let changes = model.changes_since(&revision);
                revision = model.revision();
                inference = std::mem::take(&mut inference).update(&model, &options, &changes);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, inference, update);
criterion_main!(benches);
