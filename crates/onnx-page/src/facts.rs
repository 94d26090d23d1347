//! What other crates find out about a model, as marks and groups of a picture.

use onnx_check::{CheckOptions, check};
use onnx_cost::{Cost, CostOptions, cost};
use onnx_diag::{Severity, Sink};
use onnx_draw::{Group, Marks};
use onnx_functions::{OutlineOptions, repeated_blocks};
use onnx_ir::{Model, NodeId};
use onnx_schema::Registry;
use onnx_select::Selectors;
use onnx_shape_infer::Inference;
use onnx_types::Execution;

/// Nodes of a graph at most in which repeated blocks are searched.
const MOST_FOR_BLOCKS: usize = 20_000;
/// Nodes of a graph at least in which repeated blocks are searched.
const LEAST_FOR_BLOCKS: usize = 40;

/// The repeated blocks of the main graph, as groups of a scene. Models whose nodes have scopes need none.
#[must_use]
pub fn block_groups(model: &Model, registry: &Registry, execution: &Execution) -> Vec<Group> {
    let graph = model.main_graph();
    let count = model.graph(graph).node_count();
    let scoped = |&node: &NodeId| {
        let record = model.node(node);
        let is_scope = |key: &str| key == "namespace" || key == "pkg.torch.onnx.name_scopes";
        model.str(record.name()).trim_start_matches('/').contains('/')
            || record.metadata().iter().any(|entry| is_scope(model.str(entry.key())))
    };
    let has_scopes = model.nodes(graph).filter(scoped).count() * 4 > count;
    if has_scopes || !(LEAST_FOR_BLOCKS..=MOST_FOR_BLOCKS).contains(&count) {
        return Vec::new();
    }
    let options = OutlineOptions::default().with_registry(registry).with_execution(execution.clone());
    // A graph without blocks, or one that is not sorted, is divided without them.
    let blocks = repeated_blocks(model, graph, &options).unwrap_or_default();
    let mut groups = Vec::new();
    for (number, occurrences) in blocks.into_iter().enumerate() {
        let count = occurrences.len();
        groups.extend(occurrences.into_iter().enumerate().map(|(index, nodes)| {
            let title = format!("block {}, {} of {count}", number + 1, index + 1);
            Group { title, nodes }
        }));
    }
    groups
}

/// Everything that the checker and inference report.
#[must_use]
pub fn findings(model: &Model, inference: &Inference, registry: &Registry, execution: &Execution) -> Sink {
    let options = CheckOptions::default().with_registry(registry.clone()).with_execution(execution.clone());
    let mut found = check(model, &options);
    found.merge(inference.findings().clone());
    found
}

/// Marks the nodes that diagnostics are about. Notes are left out: most models have one for most nodes.
pub fn mark_findings(model: &Model, found: &Sink, marks: &mut Marks) {
    let selectors = Selectors::new(model);
    for finding in found.diagnostics().iter().filter(|finding| finding.severity > Severity::Note) {
        if let Some(node) = selectors.element(&finding.locus).and_then(|element| element.node(model)) {
            marks.add_finding(node, finding.severity);
        }
    }
}

/// The cost of a model, as [`cost`] counts it.
///
/// # Errors
///
/// Returns the message if the cost cannot be counted.
pub fn model_cost(model: &Model, registry: &Registry, execution: &Execution) -> Result<Cost, String> {
    let options = CostOptions::default().with_registry(registry).with_execution(execution.clone());
    cost(model, &options).map_err(|error| error.to_string())
}

/// Marks the costs of nodes: operations, in which variables count as a typical size.
pub fn mark_cost(cost: &Cost, marks: &mut Marks) {
    for counted in &cost.nodes {
        let is_known =
            counted.operations.known().is_some_and(|operations| operations > 0) || counted.rank > 0;
        if let Some(node) = counted.node.filter(|_| is_known) {
            marks.cost.insert(node, counted.rank as f64);
        }
    }
}
