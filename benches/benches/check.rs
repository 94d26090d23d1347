//! Checking models, nested and flat ones.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::decode;
use onnx_check::{CheckOptions, check};
use onnx_tests::models::{Transformer, chain, fan_out, functions, subgraphs};

fn checks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.sample_size(10);
    for (name, bytes) in [
        ("chain 1000", chain(1_000)),
        ("chain 10000", chain(10_000)),
        ("chain 100000", chain(100_000)),
        ("transformer 10000", Transformer { value_info: true, ..Transformer::with_nodes(10_000) }.build()),
        ("fan out 10000", fan_out(10_000)),
        ("subgraphs 10000", subgraphs(10_000)),
        ("functions 2500", functions(2_500)),
    ] {
        let model = decode(bytes);
        group.throughput(Throughput::Elements(model.node_count() as u64));
        let options = CheckOptions::default();
        group.bench_function(name, |bencher| {
            bencher.iter_with_large_drop(|| check(black_box(&model), &options));
        });
    }
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
