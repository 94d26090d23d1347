//! Sizes of the loop-carried values of `Loop` that change from iteration to iteration.
//!
//! A size to which each iteration adds the same, and one that each iteration sets to the same, is computed from the number of
//! iterations. The size that the body gives can depend on guards in symbols of the body, which stand for another number in
//! each iteration and mean nothing outside of it. Each such guard must hold in all iterations: it is tested, or recorded as a
//! guard of the loop, for the first iteration and the last one, between which both sides differ by a linear function of the
//! iteration number. If that is not possible, the size remains unknown.

use onnx_ir::GraphId;
use onnx_types::{Dim, Symbol};

use crate::cx::Cx;
use crate::engine::control::Known;
use crate::facts::{Fact, Relation, Strength};
use crate::ty::{Dims, Ty, at};

/// A size of a carried value that changes.
struct Size {
    index: usize,
    axis: usize,
    /// What the body calls it.
    symbol: Symbol,
    /// What it is in the first iteration.
    first: Dim,
    later: Later,
}

/// A size after the first iteration.
#[derive(Clone, Copy)]
enum Later {
    /// Each iteration adds this to it.
    Adds(Dim),
    /// Each iteration makes it this.
    Is(Dim),
}

/// Computes the sizes of the carried values that change. `results` are those of the body, `runs` is the number of iterations,
/// and `mark` the number of facts before the body was visited.
pub(super) fn grow(
    cx: &mut Cx<'_, '_>,
    body: GraphId,
    carried: &mut [Known],
    results: &[Known],
    (runs, mark): (Dim, usize),
) {
    if runs.is_unknown() {
        return;
    }
    let mut sizes = Vec::new();
    for (index, known) in carried.iter().enumerate() {
        changing(cx, body, index, (known, results.get(index)), &mut sizes);
    }
    if sizes.is_empty() {
        return;
    }
    let Some(guards) = guards(cx, body, &sizes, (runs, mark)) else { return };
    for fact in guards {
        if !cx.may_assume(fact.relation, fact.reason) {
            return;
        }
    }
    for size in sizes {
        let dim = match size.later {
            Later::Adds(step) => {
                let added = cx.dims().mul(runs, step);
                cx.dims().add(size.first, added)
            }
            Later::Is(dim) => cx.dims().select(runs, dim, size.first),
        };
        let Some(Known { ty: Ty::Tensor(_, Some(dims)), .. }) = carried.get_mut(size.index) else { continue };
        if let Some(to) = dims.get_mut(size.axis) {
            *to = dim;
        }
    }
}

/// Finds the sizes of a carried value that change and can be computed.
fn changing(
    cx: &mut Cx<'_, '_>,
    body: GraphId,
    index: usize,
    (known, given): (&Known, Option<&Known>),
    sizes: &mut Vec<Size>,
) {
    let outer = index.saturating_add(2);
    let formal = cx.model().graph(body).inputs().get(outer).copied();
    let taken: Option<Dims> = formal.and_then(|value| cx.state.table.dims(value)).map(Dims::from_slice);
    let (Ok(initial), Some(taken)) = (cx.shape(outer), taken) else { return };
    let (Some(dims), Some(given)) = (known.ty.dims(), given.and_then(|given| given.ty.dims())) else {
        return;
    };
    for (axis, _) in dims.iter().enumerate().filter(|(_, dim)| dim.is_unknown()) {
        let [first, taken, given] = [&initial[..], &taken[..], given].map(|dims| at(dims, axis));
        let Dim::Var(symbol) = taken else { continue };
        let step = cx.dims().sub(given, taken);
        let later = if !step.is_unknown() && !has_local(cx, step, body) {
            Later::Adds(step)
        } else if !given.is_unknown() && !has_local(cx, given, body) {
            Later::Is(given)
        } else {
            continue;
        };
        sizes.push(Size { index, axis, symbol, first, later });
    }
}

/// What must hold outside of the body so that all guards in symbols of the body hold in all iterations; `None` if that is not
/// known, or if one does not hold.
fn guards(
    cx: &mut Cx<'_, '_>,
    body: GraphId,
    sizes: &[Size],
    (runs, mark): (Dim, usize),
) -> Option<Vec<Fact>> {
    if cx.state.facts.is_full() {
        return None;
    }
    let made = cx.state.facts.all().get(mark..).unwrap_or_default();
    let assumed: Vec<Fact> = made.iter().filter(|fact| fact.strength == Strength::Assumed).copied().collect();
    let mut needed = Vec::new();
    for fact in assumed {
        let Some((a, b)) = fact.relation.dims() else { continue };
        let mut symbols = cx.state.exprs.symbols(a);
        symbols.extend(cx.state.exprs.symbols(b));
        symbols.retain(|&symbol| is_local(cx, symbol, body));
        if symbols.is_empty() {
            continue;
        }
        let of = |symbol: Symbol| sizes.iter().find(|size| size.symbol == symbol);
        let sizes: Vec<&Size> = symbols.into_iter().map(of).collect::<Option<_>>()?;
        for relation in in_all_iterations(cx, fact.relation, &sizes, runs)? {
            match holds(cx, relation) {
                Some(true) => {}
                Some(false) => return None,
                None => needed.push(Fact { relation, ..fact }),
            }
        }
    }
    Some(needed)
}

/// The relations of the first and the last iteration, and of the second if sizes are set by the first; `None` if those between
/// do not follow from them.
fn in_all_iterations(
    cx: &mut Cx<'_, '_>,
    relation: Relation,
    sizes: &[&Size],
    runs: Dim,
) -> Option<Vec<Relation>> {
    let is_linear = sizes.iter().any(|size| matches!(size.later, Later::Adds(_)));
    let is_set = sizes.iter().any(|size| matches!(size.later, Later::Is(_)));
    let mut found = vec![at_first(cx, relation, sizes)?];
    if !is_linear {
        found.push(at_iteration(cx, relation, sizes, Dim::Known(1))?);
        return Some(found);
    }
    let (Relation::AtMost(a, b) | Relation::Equal(a, b)) = relation else { return None };
    // The symbol of a size stands for the iteration number once all are replaced.
    let number = Dim::Var(sizes.first()?.symbol);
    let difference = cx.dims().sub(b, a);
    let general = of_iteration(cx, difference, sizes, number);
    let [zero, one] = [0, 1].map(|at| of_iteration(cx, difference, sizes, Dim::Known(at)));
    let slope = cx.dims().sub(one, zero);
    let linear = cx.dims().mul(slope, number);
    let linear = cx.dims().add(linear, zero);
    if cx.dims().sub(general, linear) != Dim::Known(0) {
        return None;
    }
    if is_set {
        found.push(at_iteration(cx, relation, sizes, Dim::Known(1))?);
    }
    let last = cx.dims().sub(runs, Dim::Known(1));
    found.push(at_iteration(cx, relation, sizes, last)?);
    Some(found)
}

fn at_first(cx: &mut Cx<'_, '_>, relation: Relation, sizes: &[&Size]) -> Option<Relation> {
    let first = |symbol| sizes.iter().find(|size| size.symbol == symbol).map(|size| size.first);
    relation.map(|dim| known(cx.state.exprs.substitute(dim, &first)))
}

fn at_iteration(cx: &mut Cx<'_, '_>, relation: Relation, sizes: &[&Size], number: Dim) -> Option<Relation> {
    relation.map(|dim| known(of_iteration(cx, dim, sizes, number)))
}

/// A dimension in an iteration after the first.
fn of_iteration(cx: &mut Cx<'_, '_>, dim: Dim, sizes: &[&Size], number: Dim) -> Dim {
    let mut values: Vec<(Symbol, Dim)> = Vec::with_capacity(sizes.len());
    for size in sizes {
        let value = match size.later {
            Later::Adds(step) => {
                let added = cx.dims().mul(number, step);
                cx.dims().add(size.first, added)
            }
            Later::Is(dim) => dim,
        };
        values.push((size.symbol, value));
    }
    let value = |symbol| values.iter().find(|&&(known, _)| known == symbol).map(|&(_, value)| value);
    cx.state.exprs.substitute(dim, &value)
}

fn known(dim: Dim) -> Option<Dim> {
    (!dim.is_unknown()).then_some(dim)
}

fn holds(cx: &Cx<'_, '_>, relation: Relation) -> Option<bool> {
    match relation {
        Relation::AtMost(a, b) => cx.dims_le(a, b),
        Relation::Equal(a, b) => cx.dims_eq(a, b),
        _ if relation.fails(Dim::known) => Some(false),
        _ => None,
    }
}

/// Whether a dimension depends on symbols that were made in the body.
pub(super) fn has_local(cx: &Cx<'_, '_>, dim: Dim, body: GraphId) -> bool {
    cx.state.exprs.symbols(dim).into_iter().any(|symbol| is_local(cx, symbol, body))
}

/// Whether a symbol may stand for another number in each iteration: it was made in the body, or in a function other than the
/// one that the loop is in.
fn is_local(cx: &Cx<'_, '_>, symbol: Symbol, body: GraphId) -> bool {
    let Some(graph) = cx.state.origin_graph(symbol) else { return false };
    let model = cx.model();
    let root = model.root(graph);
    model.is_inside(graph, body) || (root != model.main_graph() && root != model.root(body))
}
