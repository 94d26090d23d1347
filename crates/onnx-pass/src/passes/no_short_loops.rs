//! The pass `no-short-loops`: loops that run once, or not at all, become the nodes that run.

use onnx_ir::{CopyMap, GraphId, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_schema::op;
use onnx_types::tensor::Tensor;

use super::{Report, until_idle};
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "no-short-loops";

/// Inputs of `Loop` before the initial values, and of its body.
const LEADING: usize = 2;

pub(super) fn pass() -> Pass {
    let summary = "Replaces `Loop` nodes that run once or not at all by the nodes that run.";
    Pass::new(NAME, summary, Exactness::Exact, no_short_loops)
        .with_page(include_str!("no_short_loops.md"))
        .after("sorted")
}

/// Replaces `Loop` nodes that are known to run once by the nodes of the body, and those that never run by the initial values.
pub fn no_short_loops(cx: &mut PassCx<'_>) -> Report {
    // A body that becomes part of another graph brings its own `Loop` nodes.
    until_idle(cx, |cx| cx.rewrite(NAME, Exactness::Exact, op::LOOP, unroll))
}

/// The values of a loop.
pub(super) struct Parts {
    pub(super) body: GraphId,
    pub(super) trips: Option<ValueId>,
    pub(super) condition: Option<ValueId>,
    pub(super) initial: Vec<ValueId>,
    pub(super) outputs: Vec<Option<ValueId>>,
}

impl Parts {
    pub(super) fn of(patch: &Patch<'_, '_>, node: NodeId) -> Result<Self, Reason> {
        let model = patch.model();
        let view = ops::Loop::of(model, node).ok_or("the node has no view")?;
        let body = view.body().known().ok_or("its body is not known")?;
        let record = model.node(node);
        let initial: Option<Vec<ValueId>> = record.inputs().skip(LEADING).collect();
        let initial = initial.ok_or("an initial value is left out")?;
        let parts = Self {
            body,
            trips: record.input(0),
            condition: record.input(1),
            initial,
            outputs: record.outputs().to_vec(),
        };
        let graph = model.graph(body);
        let is_complete = graph.inputs().len() == parts.initial.len().saturating_add(LEADING)
            && graph.outputs().len() > parts.initial.len();
        if is_complete { Ok(parts) } else { Err("the body does not fit the loop".into()) }
    }
}

fn unroll(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let parts = Parts::of(patch, node)?;
    let begins = match parts.condition {
        Some(condition) => patch.scalar(condition).map(|condition| condition != 0.0),
        None => Some(true),
    };
    if begins == Some(false) {
        return skip(patch, &parts);
    }
    let trips = match parts.trips {
        Some(trips) => Some(patch.scalar(trips).ok_or("the number of its runs is not known")?),
        None => None,
    };
    if trips.is_some_and(|trips| trips <= 0.0) {
        return skip(patch, &parts);
    }
    if begins.is_none() {
        return Err("whether it begins is not known".into());
    }
    // Without a number of runs, the condition that the body returns ends the loop.
    if trips != Some(1.0) {
        let next = patch.model().graph(parts.body).outputs().first().map(onnx_ir::GraphOutput::value);
        let next = next.and_then(|next| patch.scalar(next)).ok_or("the number of its runs is not known")?;
        if next != 0.0 {
            return Err("it may run more than once".into());
        }
    }
    inline(patch, node, &parts)
}

/// The loop never runs: its results are the initial values.
fn skip(patch: &mut Patch<'_, '_>, parts: &Parts) -> Result<(), Reason> {
    let scans = parts.outputs.iter().skip(parts.initial.len()).flatten();
    if scans.copied().any(|output| patch.model().value(output).is_used()) {
        return Err("a result that it would collect is used, and empty".into());
    }
    tap(patch, parts);
    let mut is_any = false;
    for (output, &initial) in parts.outputs.iter().zip(&parts.initial) {
        if let Some(output) = *output {
            patch.replace(output, initial);
            is_any = true;
        }
    }
    if is_any { Ok(()) } else { Err("it has no results".into()) }
}

/// The loop runs once: its results are those of the body, and collected ones get an axis of size 1.
fn inline(patch: &mut Patch<'_, '_>, node: NodeId, parts: &Parts) -> Result<(), Reason> {
    tap(patch, parts);
    let at = Position::Before(node);
    let new = iteration(patch, at, parts, (0, &parts.initial))?;
    for (output, new) in parts.outputs.iter().zip(new) {
        output.iter().for_each(|output| patch.replace(*output, new));
    }
    Ok(())
}

/// Copies the nodes of the body for the iteration with an index that begins with these values. Returns the results without the
/// condition; those that are collected have an axis of size 1.
pub(super) fn iteration(
    patch: &mut Patch<'_, '_>,
    at: Position,
    parts: &Parts,
    (index, carried): (i64, &[ValueId]),
) -> Result<Vec<ValueId>, Reason> {
    let index = patch.new_constant(at, Tensor::scalar(index))?;
    let yes = patch.new_constant(at, Tensor::scalar(true))?;
    let mut map = CopyMap::new();
    let inputs = patch.model().graph(parts.body).inputs().to_vec();
    for (input, value) in inputs.into_iter().zip([index, yes].into_iter().chain(carried.iter().copied())) {
        map.map(input, value);
    }
    let results: Vec<ValueId> =
        patch.model().graph(parts.body).outputs().iter().skip(1).map(onnx_ir::GraphOutput::value).collect();
    patch.copy_nodes(parts.body, at, &mut map)?;
    let mut new = Vec::new();
    for (place, result) in results.into_iter().enumerate() {
        let result = map.get(result);
        let is_wanted = parts.outputs.get(place).copied().flatten().is_some();
        new.push(match place < parts.initial.len() || !is_wanted {
            true => result,
            false => patch.build(at, |build| ops::unsqueeze(build, result, [0]).output())?,
        });
    }
    Ok(new)
}

/// Values from outside of the loop are inputs of the claim.
pub(super) fn tap(patch: &mut Patch<'_, '_>, parts: &Parts) {
    for value in patch.model().captures(parts.body).into_iter().chain(parts.initial.iter().copied()) {
        patch.tap(value);
    }
}
