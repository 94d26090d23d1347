//! The rule `node-name-twice`: two nodes of a graph have the same name.

use std::collections::{HashMap, HashSet};

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use onnx_ir::{GraphId, Model};
use onnx_types::Symbol;

use crate::cx::GraphCx;

pub(crate) static RULE: Rule =
    Rule::new(2205, "node-name-twice", Severity::Warning, "Two nodes of a graph have the same name.")
        .with_spec("IR: Names Within a Graph")
        .with_explain(include_str!("node_name_twice.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    cx.seen.begin();
    let model = cx.model;
    let (mut first_pair, mut more) = (None, 0_u64);
    for (position, node) in (0_u32..).zip(model.nodes(cx.id)) {
        let name = model.node(node).name();
        if name.is_empty() {
            continue;
        }
        let Some(earlier) = cx.seen.earlier(name, position) else { continue };
        match first_pair {
            None => first_pair = Some((node, earlier)),
            Some(_) => more = more.saturating_add(1),
        }
    }
    let Some((node, earlier)) = first_pair else { return };
    let id = cx.id;
    // One diagnostic per graph: a graph with one duplicate name usually has many.
    cx.report(&RULE, |places| {
        let message = format!("node name {} is given twice", Quoted(places.str(model.node(node).name())));
        let mut found = Diagnostic::new(&RULE, places.node(node), message);
        if let Some(first) = model.nodes(id).nth(earlier as usize) {
            found = found.label(places.node(first), "first given here");
        }
        if more > 0 {
            found = found.note(format!("{more} more nodes of this graph have names of earlier ones"));
        }
        found.help("rename one of them, or leave its name out")
    });
}

/// Gives unique names to nodes whose name an earlier node of their graph has. Nothing refers to nodes by name.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut done = Vec::new();
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    for graph in graphs {
        let mut taken: HashSet<Symbol> = model.nodes(graph).map(|node| model.node(node).name()).collect();
        let (mut met, mut numbers) = (HashSet::new(), HashMap::new());
        let named = model.nodes(graph).map(|node| (node, model.node(node).name()));
        let twice: Vec<_> = named.filter(|&(_, name)| !name.is_empty() && !met.insert(name)).collect();
        for &(node, name) in &twice {
            // The number of a name only grows, so all names together take as many tries as there are nodes.
            let number: &mut u32 = numbers.entry(name).or_default();
            let free = loop {
                *number = number.saturating_add(1);
                let free = model.intern(&format!("{}_{number}", model.str(name)));
                if taken.insert(free) {
                    break free;
                }
            };
            model.set_node_name(node, free);
        }
        if let Some(&(_, first)) = twice.first() {
            let (first, count) = (Quoted(model.str(first)), twice.len());
            done.push(match count {
                1 => format!("renamed a node that had the name of an earlier one, {first}"),
                _ => format!("renamed {count} nodes that had the names of earlier ones, such as {first}"),
            });
        }
    }
    done
}
