//! `FlexAttention`: attention with graphs that change scores and weights.
//!
//! Queries are of shape (B, Hq, L, D), keys (B, H, S, D), values (B, H, S, Dv), and the output is (B, Hq, L, Dv). The graphs
//! take scores and probabilities, both of shape (B, Hq, L, S), and change no shapes. Their element type is
//! `softmax_precision`, or else the one that the graph declares.

use onnx_schema::{attr, domain, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome, Stop};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::family::element_type;
use crate::fault::SIZES_DIFFER;
use crate::registry::{OpRules, infer, since_control};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::FLEX_ATTENTION, &[since_control(1, rule)]).of(domain::PREVIEW);

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control) -> Outcome<Step> {
    let graphs = [attr::SCORE_MOD, attr::PROB_MOD];
    let given: Vec<_> = graphs.into_iter().filter(|&name| cx.has_attribute(name)).collect();
    let round = usize::try_from(control.round).unwrap_or(usize::MAX);
    let Some(&name) = given.get(round) else {
        shapes(cx)?;
        return Ok(Step::Done);
    };
    let graph = match cx.graph_attr(name) {
        // The graph is one of the call of a function.
        Err(Stop::Unknown) => {
            shapes(cx)?;
            return Ok(Step::Done);
        }
        graph => graph?,
    };
    cx.body_arity(graph, 1, 1)?;
    let axis = |cx: &mut Cx<'_, '_>, input: usize, axis: usize| -> Option<Dim> {
        cx.shape(input).ok().filter(|dims| dims.len() == 4).and_then(|dims| dims.get(axis).copied())
    };
    let scores = [(0, 0), (0, 1), (0, 2), (1, 2)].map(|(input, at)| axis(cx, input, at).unwrap_or_default());
    let elem = element_type::attribute(cx, attr::SOFTMAX_PRECISION)?.unwrap_or(ElemType::Undefined);
    let known = Known { ty: Ty::tensor(elem, scores), content: None };
    cx.bind(graph, 0, known, false)?;
    Ok(Step::Enter(graph, Runs::Always))
}

fn shapes(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut shapes = Vec::with_capacity(3);
    for index in 0..3 {
        shapes.push(if cx.rank(index).is_ok() { Some(cx.shape_of_rank(index, 4)?) } else { None });
    }
    let at = |input: usize, axis: usize| -> Dim {
        shapes
            .get(input)
            .and_then(Option::as_ref)
            .and_then(|dims| dims.get(axis))
            .copied()
            .unwrap_or_default()
    };
    let (query, key, value) = (0, 1, 2);
    let batch = cx.same(at(query, 0), at(key, 0), "the sizes of the batch")?;
    let batch = cx.same(batch, at(value, 0), "the sizes of the batch")?;
    cx.same(at(query, 3), at(key, 3), "the sizes of queries and keys")?;
    cx.same(at(key, 2), at(value, 2), "the numbers of keys and values")?;
    let heads = cx.same(at(key, 1), at(value, 1), "the numbers of heads of keys and values")?;
    if let (Dim::Known(all), Dim::Known(shared)) = (at(query, 1), heads)
        // Without key heads, only zero query heads fit.
        && all.checked_rem(shared).unwrap_or(all) != 0
    {
        return Err(cx.fail(
            &SIZES_DIFFER,
            format_args!("{all} heads of queries cannot share {shared} heads of keys"),
        ));
    }
    if shapes.iter().all(Option::is_none) {
        return Err(Stop::Unknown);
    }
    cx.set_shape(0, [batch, at(query, 1), at(query, 2), at(value, 3)]);
    Ok(())
}
