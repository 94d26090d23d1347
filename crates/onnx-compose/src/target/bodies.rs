//! What a runtime lacks in the bodies that it puts into the place of calls of functions, and of operators without a kernel.

use std::collections::{BTreeSet, HashMap, HashSet};

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Sink};
use onnx_functions::{InlineError, InlineOptions, expand, inline};
use onnx_ir::{Callee, Def, FunctionId, GraphId, Model, NodeId, OpsetScope, ValueId, ValueTypes};
use onnx_schema::{Registry, attr, op};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{Execution, Stopped};

use super::{Cx, Target, by_name};
use crate::rules::TARGET_LACKS_FEATURE;

/// The graphs of the model, and those of functions that something calls: a runtime that puts bodies into the place of their calls never
/// looks for the kernels of others. Functions that are called in `dropped` graphs only are added to these.
pub(super) fn reached_graphs(
    model: &Model,
    registry: &Registry,
    dropped: &mut HashSet<GraphId>,
) -> Vec<GraphId> {
    let mut of_functions: HashMap<FunctionId, Vec<GraphId>> = HashMap::new();
    let (mut reached, mut late) = (Vec::new(), Vec::new());
    for graph in model.all_graphs() {
        match model.scope(graph) {
            OpsetScope::Model if dropped.contains(&graph) => late.push(graph),
            OpsetScope::Model => reached.push(graph),
            OpsetScope::Function(function) => of_functions.entry(function).or_default().push(graph),
        }
    }
    let kept = follow(model, registry, &mut reached, &mut of_functions, 0);
    reached.extend(late);
    follow(model, registry, &mut reached, &mut of_functions, kept);
    dropped.extend(reached.iter().skip(kept));
    reached
}

/// Adds the graphs of functions that graphs from a position on call. Returns their number.
fn follow(
    model: &Model,
    registry: &Registry,
    reached: &mut Vec<GraphId>,
    of_functions: &mut HashMap<FunctionId, Vec<GraphId>>,
    mut next: usize,
) -> usize {
    while let Some(&graph) = reached.get(next) {
        for node in model.nodes(graph) {
            if let Callee::Function(function) = model.callee(node, registry) {
                reached.extend(of_functions.remove(&function).into_iter().flatten());
            }
        }
        next += 1;
    }
    next
}

/// The branches whose nodes need no kernel, with the graphs nested in them: the target drops them. In functions that depends on the
/// call, so that all of their branches are among them, and [`unsupported_in_bodies`] decides.
pub(super) fn dropped_branches(
    model: &Model,
    target: &Target,
    types: &dyn ValueTypes,
    registry: &Registry,
) -> HashSet<GraphId> {
    let mut dropped = HashSet::new();
    if !target.drops_branches {
        return dropped;
    }
    for graph in model.all_graphs() {
        let is_called = target.expands_functions && model.scope(graph) != OpsetScope::Model;
        for node in model.nodes(graph).filter(|&node| model.node(node).is(op::IF)) {
            let record = model.node(node);
            let condition = record.input(0).filter(|&value| is_folded(model, types, registry, value));
            let condition = condition.and_then(|value| types.scalar_of(model, value));
            for (name, taken) in [(attr::THEN_BRANCH, true), (attr::ELSE_BRANCH, false)] {
                if is_called || condition.is_some_and(|condition| (condition != 0) != taken) {
                    let branch = record.attribute(name).map(|attribute| attribute.value().graphs());
                    let branch = branch.unwrap_or_default().iter();
                    dropped.extend(branch.flat_map(|&branch| model.graphs_in(branch)));
                }
            }
        }
    }
    dropped
}

/// Returns `true` if a value is computed from nothing but constants and sizes that are numbers.
fn is_folded(model: &Model, types: &dyn ValueTypes, registry: &Registry, value: ValueId) -> bool {
    let has_sizes = |value: ValueId| {
        let ty = types.type_of(model, value);
        ty.is_some_and(|ty| {
            ty.shape().is_some_and(|shape| shape.dims().iter().all(|dim| dim.known().is_some()))
        })
    };
    let (mut next, mut seen) = (vec![value], HashSet::from([value]));
    while let Some(value) = next.pop() {
        let node = match model.value(value).def() {
            Def::Initializer(_) => continue,
            // Before, every initializer had to be an input.
            Def::Input { .. }
                if model.info().ir_version < 4 && model.value(value).initializer().is_some() =>
            {
                continue;
            }
            Def::Output { node, .. } => node,
            Def::Input { .. } | Def::Unresolved(_) => return false,
        };
        let record = model.node(node);
        let is_shape = record.is(op::SHAPE);
        if is_shape && record.inputs().flatten().all(has_sizes) {
            continue;
        }
        let is_pure = matches!(model.callee(node, registry), Callee::Standard(_))
            && model.has_deterministic_operator(node, registry)
            && record.nested_graphs().next().is_none();
        if !is_pure {
            return false;
        }
        next.extend(record.inputs().flatten().filter(|&input| seen.insert(input)));
    }
    true
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
        let (is_always_run, is_dropped) = (true, false);
        let cx = Cx { model: &expanded, target, types: &types, node: *node, is_always_run, is_dropped };
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
    let dropped = dropped_branches(&expanded, target, &types, registry);
    let lacking = |&node: &NodeId| {
        let graph = expanded.node(node).graph();
        let (is_always_run, is_dropped) = (always_run.contains(&graph), dropped.contains(&graph));
        Cx { model: &expanded, target, types: &types, node, is_always_run, is_dropped }
            .lacking(&by_name, registry)
    };
    let all: BTreeSet<String> = inserted.iter().filter_map(lacking).collect();
    for lacking in all {
        let message = format!("{} {} has {lacking}; a body needs it", target.name, target.version);
        sink.report(Diagnostic::new(&TARGET_LACKS_FEATURE, Locus::model(), message));
    }
    Ok(sink)
}
