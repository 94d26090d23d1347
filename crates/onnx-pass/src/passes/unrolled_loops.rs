//! The pass `unrolled-loops`: loops with a known, small number of runs become the nodes of all runs.

use onnx_ir::{NodeId, Position, ValueId};
use onnx_ops::ops;
use onnx_schema::op;

use super::no_short_loops::{Parts, iteration, tap};
use super::{Report, until_idle};
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "unrolled-loops";

/// The most runs of a loop.
const MAX_TRIPS: i64 = 64;

/// The most nodes that a loop becomes: what a runtime starts faster than the iterations of a loop.
const MAX_NODES: usize = 512;

pub(super) fn pass() -> Pass {
    let summary =
        "Replaces `Loop` nodes with a small body and a known number of runs by the nodes of all runs.";
    Pass::new(NAME, summary, Exactness::Exact, unrolled_loops)
        .with_page(include_str!("unrolled_loops.md"))
        .after("sorted")
}

/// Replaces `Loop` nodes that are known to run from 2 to 64 times by a copy of the body for each run, of at most 512 nodes
/// together.
pub fn unrolled_loops(cx: &mut PassCx<'_>) -> Report {
    until_idle(cx, |cx| cx.rewrite(NAME, Exactness::Exact, op::LOOP, unroll))
}

fn unroll(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let parts = Parts::of(patch, node)?;
    let trips = parts.trips.and_then(|trips| patch.scalar(trips));
    let trips = trips.ok_or("the number of its runs is not known")?;
    if !(2.0..=MAX_TRIPS as f64).contains(&trips) {
        return Err(format!("its runs are {trips}, and from 2 to {MAX_TRIPS} are unrolled").into());
    }
    let nodes = patch.model().nodes_in(parts.body).count();
    let trips = trips as i64;
    if nodes.saturating_mul(usize::try_from(trips).unwrap_or(usize::MAX)) > MAX_NODES {
        return Err(format!("it would become more than {MAX_NODES} nodes").into());
    }
    if parts.condition.is_some_and(|condition| patch.scalar(condition) != Some(1.0)) {
        return Err("whether it begins is not known".into());
    }
    if !keeps_running(patch, &parts) {
        return Err("its condition may end it".into());
    }
    tap(patch, &parts);
    let at = Position::Before(node);
    let count = parts.initial.len();
    let mut carried = parts.initial.clone();
    let mut collected: Vec<Vec<ValueId>> = vec![Vec::new(); parts.outputs.len().saturating_sub(count)];
    for index in 0..trips {
        let results = iteration(patch, at, &parts, (index, &carried))?;
        for (list, &result) in collected.iter_mut().zip(results.iter().skip(count)) {
            list.push(result);
        }
        carried = results.into_iter().take(count).collect();
    }
    for (place, output) in parts.outputs.iter().enumerate() {
        let Some(output) = *output else { continue };
        let new = match (carried.get(place), place.checked_sub(count).and_then(|at| collected.get(at))) {
            (Some(&last), _) => last,
            (None, Some(list)) => {
                patch.build(at, |build| ops::concat(build, list.iter().copied(), 0).output())?
            }
            (None, None) => return Err("the body does not fit the loop".into()),
        };
        patch.replace(output, new);
    }
    Ok(())
}

/// Whether the condition that the body returns is true, or the one that it takes.
fn keeps_running(patch: &mut Patch<'_, '_>, parts: &Parts) -> bool {
    let graph = patch.model().graph(parts.body);
    let taken = graph.inputs().get(1).copied();
    let Some(mut next) = graph.outputs().first().map(onnx_ir::GraphOutput::value) else { return false };
    // Exporters return the condition through `Identity`.
    while let Some(node) = patch.model().value(next).producer()
        && patch.model().node(node).is(op::IDENTITY)
        && let Some(operand) = patch.model().node(node).input(0)
    {
        next = operand;
    }
    Some(next) == taken || patch.scalar(next) == Some(1.0)
}
