//! Changes of a model. Each keeps what the model computes, or makes a part of it the model.

use std::collections::HashSet;

use onnx_check::{CheckOptions, invalid_nodes};
use onnx_compose::{ExtractOptions, Target, extract_nodes};
use onnx_diag::Clean;
use onnx_draw::shown;
use onnx_ir::{Model, NodeId, Places};
use onnx_pass::{Idioms, Level, PassOptions};
use onnx_rewrite::{RuleSet, simplification};
use serde_json::{Value, json};

use crate::details::folded;
use crate::queries::limited;
use crate::session::Session;

/// Edits that are listed.
const MOST_EDITS: usize = 20_000;

/// What a change did.
pub(crate) struct Change {
    pub(crate) summary: String,
    pub(crate) edits: Vec<Edit>,
}

/// An edit: what was done, to what, and why it is right.
pub(crate) struct Edit {
    pub(crate) what: String,
    pub(crate) nodes: String,
    pub(crate) proof: String,
}

impl Edit {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), nodes: String::new(), proof: String::new() }
    }
}

impl Change {
    pub(crate) fn json(&self) -> Value {
        let shown = self.edits.iter().take(MOST_EDITS);
        let edits: Vec<Value> = shown
            .map(|edit| json!({ "what": edit.what, "nodes": edit.nodes, "proof": edit.proof }))
            .collect();
        json!({ "summary": self.summary, "edits": edits, "more": self.edits.len().saturating_sub(MOST_EDITS) })
    }
}

/// Repairs what follows from the model.
pub(crate) fn repair(model: &mut Model) -> Change {
    let edits: Vec<Edit> = onnx_check::fix(model)
        .iter()
        .map(|fix| Edit::new(format!("{} {}: {}", fix.rule.id(), fix.rule.slug, Clean(&fix.what))))
        .collect();
    let repairs = if edits.len() == 1 { "repair" } else { "repairs" };
    Change { summary: format!("{} {repairs}", edits.len()), edits }
}

/// Simplifies with the rules and costs for onnxruntime.
pub(crate) fn simplify(session: &Session, model: &mut Model, prove: bool) -> Result<Change, String> {
    let options = CheckOptions::default()
        .with_registry(session.registry.clone())
        .with_execution(session.execution.clone());
    let invalid = invalid_nodes(model, &options).map_err(|error| error.to_string())?;
    if let Some(first) = invalid.first() {
        let place = Places::new(model).node(first.node);
        return Err(format!(
            "a node is not valid, so nothing says what it computes: {place}: {}",
            first.finding.message
        ));
    }
    let defect = |error: &dyn std::fmt::Display| error.to_string();
    let mut rules = RuleSet::standard().map_err(|error| defect(&error))?;
    let target = Target::named("onnxruntime");
    if let Some(target) = target {
        rules = target.fitted(rules).with_costs(target.all_costs());
    }
    let idioms = target.map(Target::idiom_set).transpose().map_err(|error| defect(&error))?;
    let pipeline = simplification(rules, &session.registry).map_err(|error| defect(&error))?;
    let options = PassOptions::default()
        .with_registry(&session.registry)
        .with_data(&*session.source)
        .with_idioms(idioms.as_ref().map(|idioms| idioms as &dyn Idioms))
        .with_level(if prove { Level::Values } else { Level::Types })
        .with_execution(session.execution.clone());
    let before = model.node_count();
    let done = pipeline.run(model, &options);
    let count = done.edits();
    let edits = done.journal.iter().map(|entry| {
        let source = |(op, name): &(String, String)| format!("{} {}", shown(op), shown(name));
        let mut nodes: Vec<String> = entry.sources.iter().take(3).map(source).collect();
        if entry.sources.len() > 3 {
            nodes.push("…".to_owned());
        }
        let times = if entry.edits == 1 { String::new() } else { format!(" ({} edits)", entry.edits) };
        let verdict =
            if prove { limited(&Clean(&entry.verdict.to_string()).to_string(), 300) } else { String::new() };
        let class = entry.class.to_string();
        let proof = if verdict.is_empty() { class } else { format!("{class}; {verdict}") };
        Edit { what: format!("{}{times}", entry.pass), nodes: nodes.join(", "), proof }
    });
    let edits = if count == 0 { Vec::new() } else { edits.collect() };
    Ok(Change { summary: format!("{count} edits: {before} → {} nodes", model.node_count()), edits })
}

/// Makes the nodes of a box the model.
pub(crate) fn extract(
    session: &Session,
    model: &mut Model,
    level: usize,
    item: usize,
) -> Result<Change, String> {
    let mut nodes = session.scene.nodes_in(level, item);
    if nodes.is_empty() {
        return Err("the box has no nodes".to_owned());
    }
    // Nodes that compute weights have no box: what the box shows as a weight would be an input.
    let mut selected: HashSet<NodeId> = nodes.iter().copied().collect();
    for index in 0..nodes.len() {
        let Some(&node) = nodes.get(index) else { break };
        let graph = model.node(node).graph();
        let weights = folded(model, node).into_iter().filter(|&maker| model.node(maker).graph() == graph);
        nodes.extend(weights.filter(|&maker| selected.insert(maker)));
    }
    let options =
        ExtractOptions::default().with_registry(&session.registry).with_execution(session.execution.clone());
    let done = extract_nodes(model, &nodes, &options).map_err(|error| error.to_string())?;
    let graph = model.graph(model.main_graph());
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let nodes = counted(done.nodes, "node");
    let (inputs, outputs) =
        (counted(graph.inputs().len(), "input"), counted(graph.outputs().len(), "output"));
    let summary = format!("only {nodes} with {inputs} and {outputs} left");
    Ok(Change { edits: vec![Edit::new(summary.clone())], summary })
}
