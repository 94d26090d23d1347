//! Carried integers to which each iteration of a `Loop` adds the same, and loops that such a counter ends.
//!
//! Exporters write `while i < n` and sums over an axis like this. A counter starts at known elements; its step is added in the
//! body and is known outside of it. If the loop continues while the counter is below a limit that is known outside of
//! it, the number of iterations is computed. The first iteration is executed regardless of the limit.
//!
//! Only `int64` is followed: smaller types can wrap around.

use onnx_ir::{Def, GraphId, NodeId, ValueId};
use onnx_schema::{domain, op};
use onnx_types::{Dim, ElemType};

use super::growth::has_local;
use crate::content::{Content, Elem};
use crate::cx::Cx;
use crate::engine::control::Known;
use crate::ty::{Dims, Ty};

/// Number of nodes between a value and its copy that are skipped.
const MAX_COPIES: usize = 16;

/// The step of a carried value, element by element, if each iteration adds the same to it.
fn steps(cx: &mut Cx<'_, '_>, body: GraphId, index: usize) -> Option<Dims> {
    let model = cx.model();
    let formal = *model.graph(body).inputs().get(index.checked_add(2)?)?;
    let result = model.graph(body).outputs().get(index.checked_add(1)?)?.value();
    let node = producer(cx, result)?;
    let [left, right] = operands(cx, node)?;
    let sign = match model.node(node).op() {
        op::ADD => 1,
        op::SUB => -1,
        _ => return None,
    };
    let (from, by) = match (source(cx, left), source(cx, right)) {
        (from, _) if from == formal => (left, right),
        (_, from) if from == formal && sign == 1 => (right, left),
        _ => return None,
    };
    // A step of one element serves all; otherwise both have the same elements in the same order.
    let (carried, by) = (cx.state.table.dims(from)?.to_vec(), fixed(cx, by, body)?);
    let count =
        carried.iter().try_fold(1_usize, |all, dim| all.checked_mul(usize::try_from(dim.known()?).ok()?))?;
    let fits = by.len() == count || by.len() == 1;
    if !fits || cx.state.table.dims(result)? != carried.as_slice() {
        return None;
    }
    let step = |at: usize| by.get(at).or(by.first()).copied().unwrap_or_default();
    Some((0..count).map(|at| if sign == 1 { step(at) } else { cx.dims().neg(step(at)) }).collect())
}

/// The elements of a vector or scalar of `int64` that are the same in all iterations.
fn fixed(cx: &mut Cx<'_, '_>, value: ValueId, body: GraphId) -> Option<Dims> {
    let is_flat = cx.state.table.dims(value).is_none_or(|dims| dims.len() <= 1);
    let content = cx.state.content(value).filter(|_| is_flat)?;
    let dims: Dims = content.iter().map(|elem| elem.dim()).collect();
    let is_fixed = dims.iter().all(|&dim| !dim.is_unknown() && !has_local(cx, dim, body));
    is_fixed.then_some(dims)
}

/// The elements of the carried values that change, after all iterations.
pub(super) fn count(cx: &mut Cx<'_, '_>, body: GraphId, carried: &mut [Known], runs: Dim) {
    if runs.is_unknown() {
        return;
    }
    for (index, known) in carried.iter_mut().enumerate() {
        let Ty::Tensor(ElemType::Int64, Some(_)) = &known.ty else { continue };
        let Some(first) = cx.content(index.saturating_add(2)) else { continue };
        let Some(steps) = steps(cx, body, index).filter(|steps| steps.len() == first.len()) else { continue };
        let after = |(elem, step): (&Elem, Dim)| {
            let added = cx.dims().mul(runs, step);
            Elem::int(cx.dims().add(elem.dim(), added))
        };
        let content: Content = first.iter().zip(steps).map(after).collect();
        known.content = Some(content);
    }
}

/// The number of iterations of a loop that continues while a counter is on one side of a limit, if the first iteration
/// is executed and nothing else ends the loop.
pub(super) fn iterations(cx: &mut Cx<'_, '_>, body: GraphId, carried: usize) -> Option<Dim> {
    let condition = cx.model().graph(body).outputs().first()?.value();
    let node = producer(cx, condition)?;
    let [left, right] = operands(cx, node)?;
    // All forms as `counter < limit` or `counter <= limit`, with a step upwards.
    let (low, high, is_strict) = match cx.model().node(node).op() {
        op::LESS => (left, right, true),
        op::LESS_OR_EQUAL => (left, right, false),
        op::GREATER => (right, left, true),
        op::GREATER_OR_EQUAL => (right, left, false),
        _ => return None,
    };
    let (index, is_next) = counter(cx, body, carried, low)?;
    let &[Dim::Known(step @ 1..)] = steps(cx, body, index)?.as_slice() else { return None };
    let start = cx.content(index.checked_add(2)?)?;
    let &[Elem::Int(start)] = &*start else { return None };
    let &[limit] = fixed(cx, high, body)?.as_slice() else { return None };
    let room = cx.dims().sub(limit, start);
    // The first number of steps after which the counter is not below the limit.
    let steps = if is_strict {
        cx.dims().ceil_div(room, Dim::Known(step))
    } else {
        let whole = cx.dims().floor_div(room, Dim::Known(step));
        cx.dims().add(whole, Dim::Known(1))
    };
    let steps = if is_next { steps } else { cx.dims().add(steps, Dim::Known(1)) };
    let count = cx.max(steps, Dim::Known(1));
    (!count.is_unknown()).then_some(count)
}

/// The carried value that a value is, and whether it is the one of the next iteration.
fn counter(cx: &Cx<'_, '_>, body: GraphId, carried: usize, value: ValueId) -> Option<(usize, bool)> {
    let graph = cx.model().graph(body);
    let value = source(cx, value);
    let inputs = graph.inputs().iter().skip(2).take(carried);
    if let Some(index) = inputs.into_iter().position(|&formal| formal == value) {
        return Some((index, false));
    }
    let mut outputs = graph.outputs().iter().skip(1).take(carried);
    outputs.position(|output| source(cx, output.value()) == value).map(|index| (index, true))
}

/// The node that computes a value, copies of it skipped.
fn producer(cx: &Cx<'_, '_>, value: ValueId) -> Option<NodeId> {
    match cx.model().value(source(cx, value)).def() {
        Def::Output { node, .. } => {
            let is_standard = cx.model().node(node).domain() == domain::ONNX;
            is_standard.then_some(node)
        }
        _ => None,
    }
}

fn operands(cx: &Cx<'_, '_>, node: NodeId) -> Option<[ValueId; 2]> {
    let node = cx.model().node(node);
    Some([node.input(0)?, node.input(1)?])
}

/// The value with the same elements that a value is copied from, in the same order.
fn source(cx: &Cx<'_, '_>, mut value: ValueId) -> ValueId {
    for _ in 0..MAX_COPIES {
        let Def::Output { node, .. } = cx.model().value(value).def() else { break };
        let node = cx.model().node(node);
        let is_copy = matches!(node.op(), op::IDENTITY | op::SQUEEZE | op::UNSQUEEZE | op::RESHAPE);
        match node.input(0) {
            Some(from) if is_copy && node.domain() == domain::ONNX => value = from,
            _ => break,
        }
    }
    value
}
