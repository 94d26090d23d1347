//! Work on models in memory.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use onnx_benches::{decode, edits};
use onnx_tests::models::{chain, fan_out};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// How many edits are measured together.
const EDITS: usize = 500;

/// What takes time linear in the model: the time for each node should stay the same.
fn whole(criterion: &mut Criterion) {
    for nodes in SIZES {
        let model = decode(chain(nodes));
        let mut group = criterion.benchmark_group(format!("ir/chain {nodes}"));
        group.throughput(Throughput::Elements(nodes as u64)).sample_size(10);
        group.bench_function("clone", |bencher| bencher.iter_with_large_drop(|| black_box(&model).clone()));
        group.bench_function("verify", |bencher| bencher.iter(|| black_box(&model).verify().is_ok()));
        group.bench_function("nodes in", |bencher| {
            bencher.iter(|| black_box(&model).nodes_in(model.main_graph()).fold(0, count));
        });
        group.bench_function("name plan", |bencher| bencher.iter(|| black_box(&model).name_plan()));
        group.bench_function("is sorted", |bencher| {
            bencher.iter(|| black_box(&model).is_sorted(model.main_graph()));
        });
        let mut reversed = model.clone();
        edits::reverse(&mut reversed);
        group.bench_function("sort", |bencher| {
            bencher.iter_batched_ref(|| reversed.clone(), edits::sort, BatchSize::PerIteration);
        });
        group.finish();
    }
}

/// Counts nodes one by one, by a number that the compiler cannot know.
fn count(sum: usize, node: onnx_ir::NodeId) -> usize {
    black_box(node);
    sum + 1
}

/// What takes constant time: the time for each edit should not depend on the model.
fn local(criterion: &mut Criterion) {
    for nodes in SIZES {
        let mut model = decode(chain(nodes));
        let window = edits::window(&model, EDITS);
        let Some(&place) = window.first() else { continue };
        let mut group = criterion.benchmark_group(format!("ir/edit {nodes}"));
        group.throughput(Throughput::Elements(EDITS as u64)).sample_size(10);
        group.bench_function("insert and erase", |bencher| {
            bencher.iter(|| {
                let made = edits::insert_after(&mut model, &window);
                edits::erase(&mut model, &made);
            });
        });
        let mut recorded = model.clone();
        let recorded_window = edits::window(&recorded, EDITS);
        black_box(recorded.revision());
        group.bench_function("insert and erase, recorded", |bencher| {
            bencher.iter(|| {
                let made = edits::insert_after(&mut recorded, &recorded_window);
                edits::erase(&mut recorded, &made);
            });
        });
        group.bench_function("insert and erase at one place", |bencher| {
            bencher.iter(|| {
                let made = edits::insert_crowded(&mut model, place, EDITS);
                edits::erase(&mut model, &made);
            });
        });
        group.finish();
    }
}

/// What takes time linear in the uses of one value.
fn uses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ir/replace all uses");
    group.sample_size(10);
    for uses in SIZES {
        let mut model = decode(fan_out(uses));
        let (mut from, mut to) = edits::hub_and_input(&model);
        group.throughput(Throughput::Elements(uses as u64));
        group.bench_function(uses.to_string(), |bencher| {
            bencher.iter(|| {
                model.replace_all_uses(from, to);
                std::mem::swap(&mut from, &mut to);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, whole, local, uses);
criterion_main!(benches);
