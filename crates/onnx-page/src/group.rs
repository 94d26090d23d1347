//! Everything about a box with several nodes.

use std::collections::{BTreeMap, HashSet};

use onnx_draw::shown;
use onnx_ir::{NodeId, ValueId};
use onnx_select::Element;
use onnx_weights::weights;
use serde_json::{Value, json};

use crate::details::{filled, value_row};
use crate::queries::{grouped, place};
use crate::session::Session;

/// Values at a border that are listed.
const MOST_VALUES: usize = 40;
/// Operators that are listed.
const MOST_OPERATORS: usize = 40;

/// What crosses the border of some nodes, their operators and their weights.
pub(crate) fn details(session: &Session, title: &str, nodes: &[NodeId]) -> Value {
    let model = &session.model;
    let own: HashSet<NodeId> = nodes.iter().copied().collect();
    let (mut arriving, mut seen) = (Vec::new(), HashSet::new());
    let mut held = HashSet::new();
    let mut operators: BTreeMap<&str, u64> = BTreeMap::new();
    for &node in nodes {
        let record = model.node(node);
        *operators.entry(model.str(record.op())).or_default() += 1;
        held.extend(record.outputs().iter().flatten().copied());
        for value in record.inputs().flatten().filter(|&value| seen.insert(value)) {
            let known = model.value(value);
            if known.initializer().is_some() {
                held.insert(value);
            } else if known.producer().is_none_or(|maker| !own.contains(&maker)) {
                arriving.push(value);
            }
        }
    }
    let is_used_outside = |&value: &ValueId| {
        model
            .value(value)
            .uses()
            .iter()
            .any(|usage| usage.user.node().is_none_or(|node| !own.contains(&node)))
    };
    let made = nodes.iter().flat_map(|&node| model.node(node).outputs().iter().flatten().copied());
    let leaving: Vec<ValueId> = made.filter(is_used_outside).collect();
    let (mut elements, mut bytes) = (0_u64, 0_u64);
    for weight in
        weights(model).iter().filter(|weight| weight.value.is_some_and(|value| held.contains(&value)))
    {
        elements = elements.saturating_add(weight.tensor.element_count().unwrap_or(0));
        bytes = bytes.saturating_add(weight.bytes());
    }
    let mut counts: Vec<(&str, u64)> = operators.into_iter().collect();
    counts.sort_by_key(|&(op, count)| (std::cmp::Reverse(count), op));
    let operators = counts.iter().take(MOST_OPERATORS).map(|&(op, count)| [shown(op), count.to_string()]);
    let operators: Vec<[String; 2]> = operators.collect();
    let lists = vec![
        values(session, "Inputs", &arriving),
        values(session, "Outputs", &leaving),
        json!({ "title": "Operators", "rows": operators }),
    ];
    let rows = [
        ["nodes", &grouped(nodes.len() as u64)],
        ["elements of weights", &grouped(elements)],
        ["bytes of weights", &grouped(bytes)],
    ];
    json!({ "title": title, "rows": rows, "lists": filled(lists) })
}

/// Values with their types, and the boxes that make them.
fn values(session: &Session, title: &str, values: &[ValueId]) -> Value {
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut places = Vec::new();
    for &value in values.iter().take(MOST_VALUES) {
        rows.push(value_row(session, &session.model, value));
        places.push(place(session, Element::Value(value)));
    }
    if values.len() > MOST_VALUES {
        rows.push([format!("and {} more", values.len() - MOST_VALUES), String::new()]);
        places.push(None);
    }
    json!({ "title": title, "rows": rows, "places": places, "link": 0 })
}
