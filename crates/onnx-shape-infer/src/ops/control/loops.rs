//! `Loop`: a graph that is run again and again, and hands values on from run to run.
//!
//! The body is visited with the types of the initial values. What it hands on may be of another shape, so sizes that
//! differ become unknown, and the body is visited again until nothing changes any more; then the types hold in every run
//! of the body. A value that the body never runs for is the initial one, so the outputs are what both have in common, but a
//! size to which each run adds the same is computed from the number of runs ([`growth`](super::growth)). The reference takes the shapes of all such
//! values away.
//!
//! If something changes and there are few iterations, their number being known, they are visited one by one.
//!
//! Outputs that collect a value of each run have their number as first size: the trip count, if the condition never ends
//! the loop earlier. The other sizes are those of the body's value. Without an iteration, the
//! specification does not define them, and onnxruntime gives 0 for each size that its inference leaves open. A guard
//! (trip count at least 1) excludes that; if the loop provably has no iteration, the shape is unknown.
//!
//! An element type or kind that changes between iterations is a fault, as is a collected value that is not a tensor, and a
//! condition that is not a truth value; the reference does not check the condition.

use onnx_ir::{Def, GraphId, ValueId};
use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType, Type, TypeKind};

use super::counting;
use super::growth::{grow, has_local};
use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::facts::Relation;
use crate::family::join::{join, join_ty};
use crate::fault::{BODY_ARITY, TYPE_NOT_ALLOWED, TYPES_DIFFER, WRONG_KIND};
use crate::registry::{OpRules, infer, since_control};
use crate::sequence::Members;
use crate::ty::{Dims, Ty};

pub(super) const RULES: OpRules = infer(op::LOOP, &[since_control(1, rule)]).with_elements();

/// After this number of visits, the shapes of all values that still change are dropped.
const MAX_ROUNDS: u32 = 8;

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control) -> Outcome<Step> {
    let body = cx.required_graph(attr::BODY)?;
    let carried = cx.input_count().saturating_sub(2);
    if control.round == 0 {
        let outputs = cx.output_count().saturating_add(1);
        cx.body_arity(body, carried.saturating_add(2), outputs)?;
        if outputs <= carried {
            return Err(cx.fail(
                &BODY_ARITY,
                format_args!("the node has too few outputs for {carried} carried values"),
            ));
        }
        cx.one_element(0, "the trip count")?;
        cx.one_element(1, "the condition")?;
        let initial = initial(cx, carried);
        let start = widened(cx, initial);
        return enter(cx, control, body, start);
    }
    if control.visited > 0 {
        return each(cx, control, body, carried);
    }
    let results = cx.raw_results(body);
    let given = truth_value(cx, results.first());
    if given.is_err() {
        cx.state.forget_graph(body);
    }
    given?;
    let current = control.saved.pop().unwrap_or_default();
    let last = control.round >= MAX_ROUNDS;
    let mut next = Vec::with_capacity(carried);
    for (index, (before, after)) in current.iter().zip(results.iter().skip(1)).enumerate() {
        // An optional value that the body gives without its wrapping may be either, depending on whether the loop runs.
        if unwraps(&cx.ty(index.saturating_add(2)), &after.ty) {
            next.push(Known::default());
            continue;
        }
        let Ok(mut joined) = join(cx, before, after) else {
            cx.state.forget_graph(body);
            return Err(cx.fail(
                &TYPES_DIFFER,
                format_args!("carried value {index} changes its type from run to run"),
            ));
        };
        if last && joined != *before {
            joined = Known { ty: joined.ty.without_shape(), content: None };
        }
        next.push(joined);
    }
    if next != current {
        if control.round >= MAX_ROUNDS.saturating_add(1) {
            // Dropping shapes can make others change once more; now all are dropped.
            next.iter_mut().for_each(|known| *known = Known { ty: known.ty.without_shape(), content: None });
        }
        return enter(cx, control, body, next);
    }
    cx.state.widened.insert(cx.node_id(), (cx.state.call, next.clone()));
    if let Some(open) = few(cx, body, &next, &results) {
        control.saved.push(next);
        control.visited = 1;
        return enter(cx, control, body, open);
    }
    finish(cx, body, (next, None), results, control.mark)
}

/// What is known about the carried values before the first run. Runtimes that infer all graphs do not use their shapes.
fn initial(cx: &mut Cx<'_, '_>, carried: usize) -> Vec<Known> {
    let has_shapes = !cx.state.options.every_graph;
    let known = (0..carried).map(|index| cx.known(index.saturating_add(2)));
    let without = |known: Known| Known { ty: known.ty.without_shape(), content: None };
    known.map(|known| if has_shapes { known } else { without(known) }).collect()
}

/// Requires that the first result of the body, the condition, is a truth value. How many elements it has matters only if
/// the body runs.
fn truth_value(cx: &mut Cx<'_, '_>, condition: Option<&Known>) -> Outcome {
    let Some(Known { ty, .. }) = condition else { return Ok(()) };
    let is_truth = match ty {
        Ty::Unknown => true,
        Ty::Tensor(elem, _) => matches!(elem, ElemType::Bool | ElemType::Undefined),
        Ty::Other(_) => false,
    };
    if !is_truth {
        return Err(
            cx.fail_structure(&TYPE_NOT_ALLOWED, "the condition that the body gives must be tensor(bool)")
        );
    }
    if runs(cx) == Runs::Always {
        cx.is_one_element(ty, "the condition that the body gives")?;
    }
    Ok(())
}

/// Loops of more iterations are not visited iteration by iteration.
const MAX_EACH: i64 = 4;

/// The initial values, if something of the carried values is not known and the number of iterations is known and small.
fn few(cx: &mut Cx<'_, '_>, body: GraphId, carried: &[Known], results: &[Known]) -> Option<Vec<Known>> {
    let goes_on = goes_on(cx, body, results) && begins(cx) == Some(true);
    if !goes_on || cx.state.options.every_graph || !matches!(trips(cx), Some(Dim::Known(1..=MAX_EACH))) {
        return None;
    }
    let is_open = |known: &Known, initial: &Known| match &known.ty {
        Ty::Tensor(_, None) => true,
        Ty::Tensor(_, Some(dims)) => {
            let elements = known.content.iter().flat_map(|content| content.iter());
            let is_followed = known.content.is_some() && elements.clone().all(|&elem| elem != Elem::Unknown);
            dims.iter().any(|dim| dim.is_unknown()) || (initial.content.is_some() && !is_followed)
        }
        _ => false,
    };
    let initial: Vec<Known> = (0..carried.len()).map(|index| cx.known(index.saturating_add(2))).collect();
    carried.iter().zip(&initial).any(|(known, initial)| is_open(known, initial)).then_some(initial)
}

/// Visits the iterations one by one, and then the body with what holds in all of them again.
fn each(cx: &mut Cx<'_, '_>, control: &mut Control, body: GraphId, carried: usize) -> Outcome<Step> {
    let count = trips(cx).and_then(Dim::known).and_then(|trips| u32::try_from(trips).ok()).unwrap_or(0);
    let current = control.saved.pop().unwrap_or_default();
    if control.visited > count {
        let exact = control.saved.pop();
        let results = cx.raw_results(body);
        return finish(cx, body, (current, exact), results, control.mark);
    }
    control.visited = control.visited.saturating_add(1);
    let results: Vec<Known> = cx.raw_results(body).into_iter().skip(1).take(carried).collect();
    let results = cx.export(results, body);
    if control.visited <= count {
        return enter(cx, control, body, results);
    }
    let all = control.saved.pop().unwrap_or_default();
    control.saved.push(results);
    enter(cx, control, body, all)
}

/// Returns `true` if the body never ends the loop.
fn goes_on(cx: &Cx<'_, '_>, body: GraphId, results: &[Known]) -> bool {
    let condition = results.first().and_then(|known| known.content.as_deref());
    matches!(condition, Some([Elem::Int(Dim::Known(1))])) || hands_on(cx, body)
}

/// Whether a value is what an optional one holds.
fn unwraps(initial: &Ty, given: &Ty) -> bool {
    let (Ty::Other(initial), Some(given)) = (initial, given.to_type()) else { return false };
    matches!(initial.kind, TypeKind::Optional(_))
        && initial
            .inner()
            .is_some_and(|inner| std::mem::discriminant(&inner.kind) == std::mem::discriminant(&given.kind))
}

/// The initial types as far as they were the same in all runs when the loop was last visited: what changed then mostly
/// changes again, and loops in loops need not find that out each time.
fn widened(cx: &Cx<'_, '_>, mut initial: Vec<Known>) -> Vec<Known> {
    let Some((call, before)) = cx.state.widened.get(&cx.node_id()) else { return initial };
    if *call != cx.state.call {
        return initial;
    }
    for (known, before) in initial.iter_mut().zip(before) {
        match (&mut known.ty, &before.ty) {
            (Ty::Tensor(_, Some(dims)), Ty::Tensor(_, Some(other))) if dims.len() == other.len() => {
                for (dim, other) in dims.iter_mut().zip(other) {
                    if other.is_unknown() {
                        *dim = Dim::Unknown;
                        known.content = None;
                    }
                }
            }
            (Ty::Tensor(_, dims), Ty::Tensor(_, None)) => *dims = None,
            _ => {}
        }
        known.content = match (known.content.take(), &before.content) {
            (Some(content), Some(other)) if content.len() == other.len() => {
                let keep = |(&elem, other): (&Elem, &Elem)| {
                    if *other == Elem::Unknown { Elem::Unknown } else { elem }
                };
                Some(content.iter().zip(other.iter()).map(keep).collect())
            }
            _ => None,
        };
    }
    initial
}

/// Gives the inputs of the body their types and visits it.
fn enter(cx: &mut Cx<'_, '_>, control: &mut Control, body: GraphId, carried: Vec<Known>) -> Outcome<Step> {
    let bound = bind_all(cx, body, &carried);
    if bound.is_err() {
        cx.state.forget_graph(body);
    }
    bound?;
    control.saved.push(carried);
    control.mark = cx.state.facts.all().len();
    Ok(Step::Enter(body, runs(cx)))
}

fn bind_all(cx: &mut Cx<'_, '_>, body: GraphId, carried: &[Known]) -> Outcome {
    // Runtimes give both as scalars, or as vectors of one element where the body declares those.
    let model = cx.model();
    let declared = |index: usize| {
        let value = model.graph(body).inputs().get(index).copied();
        value.and_then(|value| model.value(value).ty()).and_then(Type::shape)
    };
    let scalar = |index: usize, elem| {
        let is_scalar = declared(index).is_none_or(|shape| shape.dims().is_empty());
        Ty::Tensor(elem, is_scalar.then(Dims::new))
    };
    let number = Known { ty: scalar(0, ElemType::Int64), content: None };
    cx.bind(body, 0, number, false)?;
    let mut condition = Known { ty: scalar(1, ElemType::Bool), content: None };
    match cx.rank(1) {
        _ if !cx.has_input(1) => {}
        // A run of the body takes place only while the condition is true.
        Ok(0) if condition.ty.dims().is_some() => condition.content = Some([Elem::bool(true)].into()),
        Ok(0) => {}
        // A condition that is not a scalar keeps its shape if the body neither declares another shape nor computes
        // another value.
        Ok(_) if declared(1).is_none() && hands_on(cx, body) => {
            condition.ty = Ty::Tensor(ElemType::Bool, cx.shape(1).ok());
        }
        _ => condition.ty = condition.ty.without_shape(),
    }
    cx.bind(body, 1, condition, false)?;
    for (index, known) in carried.iter().enumerate() {
        cx.bind(body, index.saturating_add(2), known.clone(), false)?;
    }
    Ok(())
}

fn finish(
    cx: &mut Cx<'_, '_>,
    body: GraphId,
    (mut carried, exact): (Vec<Known>, Option<Vec<Known>>),
    mut results: Vec<Known>,
    mark: usize,
) -> Outcome<Step> {
    let collected = results.split_off(carried.len().saturating_add(1).min(results.len()));
    let goes_on = goes_on(cx, body, &results);
    let counted = if goes_on { None } else { counting::iterations(cx, body, carried.len()) };
    let length = length(cx, carried.len(), !collected.is_empty(), (goes_on, counted))?;
    if length == Dim::Known(0) {
        for (index, known) in carried.iter_mut().enumerate() {
            *known = cx.known(index.saturating_add(2));
        }
    } else {
        counting::count(cx, body, &mut carried, length);
        grow(cx, body, &mut carried, results.get(1..).unwrap_or_default(), (length, mark));
    }
    // What is known of a sequence is found otherwise.
    for (known, exact) in carried.iter_mut().zip(exact.into_iter().flatten()) {
        if let Ty::Tensor(..) = &exact.ty {
            *known = exact;
        }
    }
    let first = carried.len();
    let sequences = sequences(cx, body, &mut carried, length);
    for (index, known) in carried.into_iter().enumerate() {
        cx.set_known(index, known);
    }
    for (index, count) in sequences {
        cx.set_members(index, Members::Counted(count));
    }
    for (at, known) in cx.export(collected, body).into_iter().enumerate() {
        let index = first.saturating_add(at);
        match known.ty {
            Ty::Unknown => {}
            Ty::Tensor(elem, dims) => {
                let dims = dims.filter(|dims| dims.is_empty() || has_iteration(cx, length));
                let dims = dims.map(|dims| std::iter::once(length).chain(dims).collect());
                cx.set_ty(index, Ty::Tensor(elem, dims));
            }
            Ty::Other(_) => {
                return Err(cx.fail(&WRONG_KIND, format_args!("collected value {at} is not a tensor")));
            }
        }
    }
    Ok(Step::Done)
}

/// Finds the carried sequences that are built in the graph and to which each iteration adds one element, sets their types, and
/// returns their lengths.
fn sequences(cx: &mut Cx<'_, '_>, body: GraphId, carried: &mut [Known], runs: Dim) -> Vec<(usize, Dim)> {
    let mut found = Vec::new();
    for (index, known) in carried.iter_mut().enumerate().filter(|(_, known)| matches!(known.ty, Ty::Other(_)))
    {
        let Some(initial) = cx.listed(index.saturating_add(2)) else { continue };
        let Some(added) = inserted(cx, body, index) else { continue };
        let mut types = initial.iter().map(|known| &known.ty);
        let Ok(common) = types.try_fold(added, |common, ty| join_ty(cx, &common, ty)) else { continue };
        if let Some(ty) = common.to_type() {
            known.ty = Type::sequence(ty).into();
            let before = i64::try_from(initial.len()).map_or(Dim::Unknown, Dim::Known);
            found.push((index, cx.dims().add(runs, before)));
        }
    }
    found
}

/// The type of the tensor that each iteration inserts into a carried sequence, if it is the same in all iterations.
fn inserted(cx: &Cx<'_, '_>, body: GraphId, index: usize) -> Option<Ty> {
    let graph = cx.model().graph(body);
    let formal = graph.inputs().get(index.checked_add(2)?)?;
    let result = graph.outputs().get(index.checked_add(1)?)?.value();
    let Def::Output { node, .. } = cx.model().value(result).def() else { return None };
    let node = cx.model().node(node);
    let is_insertion = node.op() == op::SEQUENCE_INSERT && node.domain() == onnx_schema::domain::ONNX;
    if !is_insertion || node.input(0) != Some(*formal) {
        return None;
    }
    let ty = cx.state.table.ty(node.input(1)?);
    let is_fixed = ty.dims()?.iter().all(|&dim| !has_local(cx, dim, body));
    is_fixed.then_some(ty)
}

/// Returns `true` if there is an iteration, with a guard if that is not proved, and `false` if there is none.
fn has_iteration(cx: &mut Cx<'_, '_>, length: Dim) -> bool {
    cx.dims_le(Dim::Known(1), length).unwrap_or_else(|| {
        let reason = "without an iteration, collected shapes are undefined";
        cx.may_assume(Relation::AtMost(Dim::Known(1), length), reason)
    })
}

/// The trip count, if it is known; no less than 0.
fn trips(cx: &mut Cx<'_, '_>) -> Option<Dim> {
    match cx.scalar(0) {
        Ok(Dim::Known(trips)) => Some(Dim::Known(trips.max(0))),
        Ok(trips) => Some(cx.max(Dim::Known(0), trips)),
        Err(_) => None,
    }
}

/// The condition before the first iteration, if it is known.
fn begins(cx: &mut Cx<'_, '_>) -> Option<bool> {
    if cx.has_input(1) { cx.scalar(1).ok().and_then(Dim::known).map(|value| value != 0) } else { Some(true) }
}

/// Whether there is an iteration.
fn runs(cx: &mut Cx<'_, '_>) -> Runs {
    let counted = if cx.has_input(0) {
        trips(cx).and_then(|trips| cx.dims_le(Dim::Known(1), trips))
    } else {
        Some(true)
    };
    Runs::if_positive(match (counted, begins(cx)) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    })
}

/// How often the body runs: the first size of what is collected. `goes_on` tells that the body never ends the loop, and
/// `counted` is the number of iterations after which it does.
fn length(
    cx: &mut Cx<'_, '_>,
    carried: usize,
    needed: bool,
    (goes_on, counted): (bool, Option<Dim>),
) -> Outcome<Dim> {
    let (trips, begins) = (trips(cx), begins(cx));
    if trips == Some(Dim::Known(0)) || begins == Some(false) {
        return Ok(Dim::Known(0));
    }
    if let (Some(trips), Some(true), true) = (trips, begins, goes_on) {
        return Ok(trips);
    }
    // Without an initial condition, the specification ignores the one of the body, and onnxruntime does not.
    if let (Some(counted), Some(true), true) = (counted, begins, cx.has_input(1)) {
        match trips {
            Some(trips) => return Ok(cx.min(trips, counted)),
            None if cx.has_input(0) => {}
            None => return Ok(counted),
        }
    }
    // What is collected has the same length everywhere.
    let owner = (carried..cx.output_count()).find_map(|index| cx.node().output(index));
    let Some(owner) = owner.filter(|_| needed) else { return Ok(Dim::Unknown) };
    let symbol = cx.state.fresh(owner, 0);
    if let Some(trips) = trips {
        let hi = cx.state.facts.bounds(&cx.state.exprs, trips).hi;
        cx.state.facts.bound(symbol, Some(0), hi);
        cx.prove(Relation::AtMost(Dim::Var(symbol), trips));
    }
    Ok(Dim::Var(symbol))
}

/// Whether the body hands on the condition that it is given.
fn hands_on(cx: &Cx<'_, '_>, body: GraphId) -> bool {
    let graph = cx.model().graph(body);
    let (Some(output), Some(&input)) = (graph.outputs().first(), graph.inputs().get(1)) else { return false };
    let mut value: ValueId = output.value();
    // As many steps as a body has at most; a circle ends, too.
    for _ in 0..MAX_COPIES {
        if value == input {
            return true;
        }
        let Def::Output { node, .. } = cx.model().value(value).def() else { return false };
        let node = cx.model().node(node);
        match node.input(0) {
            Some(from) if node.op() == op::IDENTITY && node.domain() == onnx_schema::domain::ONNX => {
                value = from
            }
            _ => return false,
        }
    }
    false
}

/// How many copies of the condition are looked through.
const MAX_COPIES: usize = 16;
