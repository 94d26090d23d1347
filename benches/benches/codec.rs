//! Reading and writing models, compared with generated protobuf messages.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::{decode, decode_messages, encode};
use onnx_tests::models::{Transformer, chain, functions, subgraphs};
use prost::Message as _;

/// The models by name, with their numbers of nodes.
fn models() -> Vec<(String, u64, Bytes)> {
    let mut models = Vec::new();
    for nodes in [1_000, 10_000, 100_000] {
        models.push((format!("chain {nodes}"), nodes as u64, chain(nodes)));
    }
    let described = Transformer { value_info: true, ..Transformer::with_nodes(10_000) };
    models.push(("transformer 10000".to_owned(), 10_000, described.build()));
    models.push(("subgraphs 10000".to_owned(), 15_000, subgraphs(10_000)));
    models.push(("functions 2500".to_owned(), 10_000, functions(2_500)));
    models
}

fn codec(criterion: &mut Criterion) {
    for (name, nodes, bytes) in models() {
        let mut group = criterion.benchmark_group(format!("codec/{name}"));
        group.throughput(Throughput::Elements(nodes)).sample_size(10);
        group.bench_function(BenchmarkId::from_parameter("decode"), |bencher| {
            bencher.iter_batched(|| bytes.clone(), decode, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::from_parameter("prost decode"), |bencher| {
            bencher.iter_batched(|| bytes.clone(), decode_messages, BatchSize::PerIteration);
        });
        let (model, messages) = (decode(bytes.clone()), decode_messages(bytes));
        group.bench_function(BenchmarkId::from_parameter("encode"), |bencher| {
            bencher.iter_with_large_drop(|| encode(black_box(&model)));
        });
        group.bench_function(BenchmarkId::from_parameter("prost encode"), |bencher| {
            bencher.iter_with_large_drop(|| black_box(&messages).encode_to_vec());
        });
        group.finish();
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
