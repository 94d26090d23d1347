//! What a runtime lacks in the bodies that it puts into the place of calls of functions, and of operators without a kernel.

use std::collections::{BTreeSet, HashMap, HashSet};

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Sink};
use onnx_functions::{InlineError, InlineOptions, expand, inline};
use onnx_ir::{Callee, FunctionId, GraphId, Model, NodeId, OpsetScope, ValueTypes};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{Execution, Stopped};

use super::{Cx, Target, by_name};
use crate::rules::TARGET_LACKS_FEATURE;

/// The graphs of the model, and those of functions that something calls: a runtime that puts bodies into the place of their calls
/// never looks for the kernels of others.
pub(super) fn reached_graphs(model: &Model, registry: &Registry) -> Vec<GraphId> {
    let mut of_functions: HashMap<FunctionId, Vec<GraphId>> = HashMap::new();
    let mut reached = Vec::new();
    for graph in model.all_graphs() {
        match model.scope(graph) {
            OpsetScope::Model => reached.push(graph),
            OpsetScope::Function(function) => of_functions.entry(function).or_default().push(graph),
        }
    }
    let mut next = 0;
    while let Some(&graph) = reached.get(next) {
        for node in model.nodes(graph) {
            if let Callee::Function(function) = model.callee(node, registry) {
                reached.extend(of_functions.remove(&function).into_iter().flatten());
            }
        }
        next += 1;
    }
    reached
}

/// The graphs that each run of the model runs: the main graph, and bodies of functions that it calls, but no graph of an attribute,
/// such as a branch of `If`.
pub(super) fn always_run(model: &Model, registry: &Registry) -> HashSet<GraphId> {
    let mut found = HashSet::from([model.main_graph()]);
    let mut next = vec![model.main_graph()];
    while let Some(graph) = next.pop() {
        for node in model.nodes(graph) {
            if let Callee::Function(function) = model.callee(node, registry) {
                let body = model.function(function).body();
                if found.insert(body) {
                    next.push(body);
                }
            }
        }
    }
    found
}

/// What the bodies that a model calls need and a target lacks, with the types that they have in these calls. Bodies are those of
/// functions of the model, and those of standard operators that the target has no kernel for. [`unsupported`](super::unsupported)
/// has the rest.
///
/// Nothing is found in bodies that are too large for the limits.
///
/// # Errors
///
/// If the work is interrupted.
pub fn unsupported_in_bodies(
    model: &Model,
    target: &Target,
    registry: &Registry,
    execution: &Execution,
) -> Result<Sink, Stopped> {
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let inferred = |model: &Model| {
        infer(model, &InferOptions::default().with_registry(registry).with_execution(execution.clone()))
    };
    let options = InlineOptions::default().with_registry(registry).with_execution(execution.clone());
    let mut expanded = model.clone();
    // The only call of a function gets the nodes of the body themselves.
    let nodes = |model: &Model| -> HashSet<NodeId> {
        let outside = model.all_graphs().filter(|&graph| model.scope(graph) == OpsetScope::Model);
        outside.flat_map(|graph| model.nodes(graph)).collect()
    };
    let own = nodes(&expanded);
    match inline(&mut expanded, &options, |_, _, _| true) {
        Err(InlineError::Stopped(stopped)) => return Err(stopped),
        // The checker reports cycles.
        Err(_) => return Ok(sink),
        Ok(_) => {}
    }
    let by_name = by_name(target);
    let types = inferred(&expanded);
    execution.interrupt.check()?;
    let without_kernel = |node: &NodeId| {
        let cx = Cx { model: &expanded, target, types: &types, node: *node, is_always_run: true };
        let Callee::Standard(schema) = expanded.callee(*node, registry) else { return false };
        let operator = by_name.get(&(schema.domain_name(), schema.name())).copied();
        cx.runs_as_body(schema) && cx.of_kernels(schema, operator).is_some()
    };
    let replaced: HashSet<NodeId> = nodes(&expanded).into_iter().filter(without_kernel).collect();
    let done = expand(
        &mut expanded,
        &options,
        |model| -> Box<dyn ValueTypes> { Box::new(inferred(model)) },
        |_, node, _| replaced.contains(&node),
    );
    if let Err(InlineError::Stopped(stopped)) = done {
        return Err(stopped);
    }
    let inserted: Vec<NodeId> = nodes(&expanded).into_iter().filter(|node| !own.contains(node)).collect();
    if inserted.is_empty() {
        return Ok(sink);
    }
    let types = inferred(&expanded);
    execution.interrupt.check()?;
    let always_run = always_run(&expanded, registry);
    let lacking = |&node: &NodeId| {
        let is_always_run = always_run.contains(&expanded.node(node).graph());
        Cx { model: &expanded, target, types: &types, node, is_always_run }.lacking(&by_name, registry)
    };
    let all: BTreeSet<String> = inserted.iter().filter_map(lacking).collect();
    for lacking in all {
        let message = format!("{} {} has {lacking}; a body needs it", target.name, target.version);
        sink.report(Diagnostic::new(&TARGET_LACKS_FEATURE, Locus::model(), message));
    }
    Ok(sink)
}
