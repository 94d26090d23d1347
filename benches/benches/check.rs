//! Checking models, nested and flat ones.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::{decode, edits};
use onnx_check::{CheckOptions, IncrementalCheck, ON_REQUEST, check};
use onnx_diag::Policy;
use onnx_ir::Changes;
use onnx_tests::models::{Transformer, chain, fan_out, functions, subgraphs};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

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

/// Checks after one edit each, a node that is inserted and erased, which should take the same time in any model; and full
/// checks to compare with. Names that are not identifiers are counted only, as programs do.
fn updates(criterion: &mut Criterion) {
    let policy = ON_REQUEST.iter().fold(Policy::new(), |policy, rule| policy.count(rule));
    let options = CheckOptions::default().with_policy(policy);
    for nodes in SIZES {
        let mut model = decode(chain(nodes));
        let window = edits::window(&model, 1);
        let mut group = criterion.benchmark_group(format!("check/updates {nodes}"));
        group.sample_size(10);
        group.bench_function("full", |bencher| {
            bencher.iter_with_large_drop(|| check(black_box(&model), &options));
        });
        let mut incremental = IncrementalCheck::new(options.clone());
        group.bench_function("full, tracked", |bencher| {
            bencher.iter_with_large_drop(|| incremental.update(black_box(&model), &Changes::Everything));
        });
        group.throughput(Throughput::Elements(2));
        group.bench_function("edit and update", |bencher| {
            bencher.iter(|| {
                let before = model.revision();
                let made = edits::insert_after(&mut model, &window);
                black_box(incremental.update(&model, &model.changes_since(&before)));
                let before = model.revision();
                edits::erase(&mut model, &made);
                black_box(incremental.update(&model, &model.changes_since(&before)));
            });
        });
        group.finish();
    }
}

criterion_group!(benches, checks, updates);
criterion_main!(benches);
