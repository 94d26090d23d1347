//! Hostile models: nesting and floods.

use std::time::{Duration, Instant};

use onnx_ir::Attribute;
use onnx_ir::raw::NodeFields;

use super::*;
use crate::check;
use crate::testing::Builder;

/// Checks a hostile model: it must end, soon, and find this many errors.
fn check_hostile(model: &Model, errors: u64) {
    let start = Instant::now();
    let sink = check(model, &CheckOptions::default());
    assert_eq!(sink.counts().errors, errors);
    // Generous: it takes milliseconds where the work is linear, and hours where it is not.
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn nesting_takes_no_stack() {
    let mut m = Builder::new();
    m.import("d", 1);
    let [name, op, domain] = ["body", "Frob", "d"].map(|name| m.model.intern(name));
    let mut inner = None;
    for depth in 0..50_000 {
        let graph = if depth == 49_999 { m.graph() } else { m.model.new_graph(name) };
        let attributes = inner.map(|inner: GraphId| Attribute::new(name, inner)).into_iter().collect();
        let outer = m.model.enter(graph, false);
        m.model.write_node(NodeFields { op, domain, attributes, ..NodeFields::default() }, &[], &[]);
        m.model.leave(outer);
        inner = Some(graph);
    }
    check_hostile(&m.model, 50_000);
}

#[test]
fn floods_are_counted_in_linear_time() {
    let mut m = Builder::new();
    for index in 0..20_000 {
        // A name that nothing defines, one that is defined twice, an operator that does not exist.
        m.node(&format!("y = Frobnicate (undefined{index})"));
    }
    check_hostile(&m.model.finish(), 20_000 + 19_999 + 20_000);
}

#[test]
fn the_same_model_gives_the_same_findings() {
    let mut m = Builder::new();
    for index in 0..100 {
        m.node(&format!("y{} = Frob{} (u{})", index % 7, index % 5, index % 11));
    }
    let model = m.model.finish();
    let [once, again] =
        [model.clone(), model].map(|model| check(&model, &CheckOptions::default()).into_diagnostics());
    assert_eq!(once, again);
    assert!(once.len() > 100);
}
