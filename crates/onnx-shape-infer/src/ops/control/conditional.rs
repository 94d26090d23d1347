//! `If`: one of two graphs, which have no inputs and see the values around them.
//!
//! Both graphs are visited, so that the values in them have types. Where the condition is known, the outputs are those of
//! the graph that runs, which the reference does not conclude. Otherwise an output is what both graphs give: a size that
//! is the same in both stays, another one is a new symbol within the bounds of both, and ranks that differ leave no shape.
//! A contradiction in the graph that runs is one of the model. In the other one it proves nothing and is not reported: the
//! bodies of many functions choose by the rank of an input. If the condition is not known, it is reported as a warning.
//! onnxruntime refuses some of these models when it loads them, as its own inference visits both graphs.
//! Graphs that give different kinds of values or element types are a fault even if the condition is known, as in the
//! reference.

use onnx_ir::GraphId;
use onnx_schema::{attr, op};
use onnx_types::Dim;
use onnx_types::expr::Bounds;

use crate::content::{Content, Elem};
use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::family::join::join;
use crate::fault::BRANCHES_DIFFER;
use crate::registry::{OpRules, infer, since_control};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::IF, &[since_control(1, rule)]).with_elements();

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control) -> Outcome<Step> {
    let then = cx.required_graph(attr::THEN_BRANCH)?;
    let otherwise = cx.required_graph(attr::ELSE_BRANCH)?;
    match control.round {
        0 => {
            let outputs = cx.output_count();
            cx.body_arity(then, 0, outputs)?;
            cx.body_arity(otherwise, 0, outputs)?;
            cx.one_element(0, "the condition")?;
            let taken = taken(cx);
            Ok(Step::Enter(then, Runs::if_positive(taken)))
        }
        1 => {
            control.saved.push(cx.raw_results(then));
            let taken = taken(cx).map(|taken| !taken);
            Ok(Step::Enter(otherwise, Runs::if_positive(taken)))
        }
        _ => {
            let left = control.saved.pop().unwrap_or_default();
            let right = cx.raw_results(otherwise);
            let condition = cx.scalar(0).unwrap_or_default();
            let chosen = Chosen { condition, graphs: [then, otherwise] };
            let joined = join_all(cx, &chosen, &left, &right)?;
            let known = match condition.known() {
                Some(0) => cx.export(right, otherwise),
                Some(_) => cx.export(left, then),
                None => joined,
            };
            for (index, known) in known.into_iter().enumerate() {
                cx.set_known(index, known);
            }
            Ok(Step::Done)
        }
    }
}

/// Which graph runs, as far as that is known.
struct Chosen {
    condition: Dim,
    graphs: [GraphId; 2],
}

impl Chosen {
    /// The dimension of the graph that runs; unknown where that depends on more than sizes outside of the graphs.
    fn of(&self, cx: &mut Cx<'_, '_>, pair: (Dim, Dim)) -> Dim {
        let [then, otherwise] = self.graphs;
        for (dim, graph) in [(pair.0, then), (pair.1, otherwise)] {
            if cx.state.exprs.symbols(dim).into_iter().any(|symbol| cx.state.is_local(symbol, graph)) {
                return Dim::Unknown;
            }
        }
        cx.dims().select(self.condition, pair.0, pair.1)
    }

    /// The elements of the graph that runs, where both graphs give as many.
    fn content(&self, cx: &mut Cx<'_, '_>, a: &Known, b: &Known) -> Option<Content> {
        if self.condition.is_unknown() || a.ty.dims()? != b.ty.dims()? {
            return None;
        }
        let (a, b) = (a.content.as_ref()?, b.content.as_ref()?);
        let elem = |(&a, &b): (&Elem, &Elem)| match (a, b) {
            _ if a == b => a,
            (Elem::Int(a), Elem::Int(b)) => Elem::int(self.of(cx, (a, b))),
            _ => Elem::Unknown,
        };
        Some(a.iter().zip(b.iter()).map(elem).collect())
    }
}

/// The condition, if it is known.
fn taken(cx: &mut Cx<'_, '_>) -> Option<bool> {
    cx.scalar(0).ok().and_then(Dim::known).map(|condition| condition != 0)
}

/// What the outputs are whichever graph runs.
fn join_all(cx: &mut Cx<'_, '_>, chosen: &Chosen, left: &[Known], right: &[Known]) -> Outcome<Vec<Known>> {
    let mut joined = Vec::with_capacity(left.len());
    // Sizes that are the same two in several places are the same one there.
    let mut pairs: Vec<((Dim, Dim), Dim)> = Vec::new();
    // Until version 11, both branches must give the same shape. The reference does not compare them, and runtimes do.
    let has_one_shape = cx.since() < 11 && cx.state.options.every_graph;
    for (index, (a, b)) in left.iter().zip(right).enumerate() {
        let Ok(mut known) = join(cx, a, b) else {
            return Err(cx.fail(
                &BRANCHES_DIFFER,
                format_args!("the branches give output {index} different kinds of values or element types"),
            ));
        };
        if let (true, Some(a), Some(b)) = (has_one_shape, a.ty.dims(), b.ty.dims()) {
            let differ = |(a, b): (&Dim, &Dim)| a.known().zip(b.known()).is_some_and(|(a, b)| a != b);
            if a.len() != b.len() || a.iter().zip(b).any(differ) {
                return Err(cx.fail(
                    &BRANCHES_DIFFER,
                    format_args!("the branches give output {index} different shapes, before version 11"),
                ));
            }
        }
        if let (Ty::Tensor(_, Some(dims)), Some(a), Some(b)) = (&mut known.ty, a.ty.dims(), b.ty.dims()) {
            for (axis, (dim, (&a, &b))) in dims.iter_mut().zip(a.iter().zip(b)).enumerate() {
                if dim.is_unknown() {
                    *dim = match chosen.of(cx, (a, b)) {
                        Dim::Unknown => either(cx, &mut pairs, (a, b), index, axis)?,
                        dim => dim,
                    };
                }
            }
        }
        known.content = chosen.content(cx, a, b).or(known.content);
        joined.push(known);
    }
    Ok(joined)
}

/// A size that is one of two.
fn either(
    cx: &mut Cx<'_, '_>,
    pairs: &mut Vec<((Dim, Dim), Dim)>,
    pair: (Dim, Dim),
    index: usize,
    axis: usize,
) -> Outcome<Dim> {
    if let Some(&(_, dim)) = pairs.iter().find(|&&(known, _)| known == pair) {
        return Ok(dim);
    }
    let (Some(owner), Ok(place)) = (cx.node().output(index), u32::try_from(axis)) else {
        return Ok(Dim::Unknown);
    };
    let symbol = cx.state.fresh(owner, place);
    let (a, b): (Bounds, Bounds) = {
        let (facts, exprs) = (&cx.state.facts, &cx.state.exprs);
        (facts.bounds(exprs, pair.0), facts.bounds(exprs, pair.1))
    };
    let lo = a.lo.zip(b.lo).map(|(a, b)| a.min(b));
    let hi = a.hi.zip(b.hi).map(|(a, b)| a.max(b));
    cx.state.facts.bound(symbol, lo, hi);
    if pairs.len() < MAX_PAIRS {
        pairs.push((pair, Dim::Var(symbol)));
    }
    Ok(Dim::Var(symbol))
}

/// More different sizes than this are not compared: each is searched for among them.
const MAX_PAIRS: usize = 64;
