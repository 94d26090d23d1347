//! `SequenceMap`: a graph that is run for each element of a sequence, and of further sequences of the same length; other
//! inputs are given to each run as they are.
//!
//! The outputs are sequences of what the graph gives. A size that only a run determines may differ from element to
//! element, so it is not known. A short sequence that is built in the graph is followed element by element.

use onnx_ir::GraphId;
use onnx_schema::{attr, op};
use onnx_types::{Dim, Type, TypeKind};

use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::fault::WRONG_KIND;
use crate::registry::{OpRules, infer, since_control};
use crate::sequence::Members;
use crate::ty::{Ty, with_shapes};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_MAP, &[since_control(17, rule)]);

/// Sequences of more elements are not followed element by element: each takes a visit of the body.
const MAX_EACH: usize = 4;

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control) -> Outcome<Step> {
    let body = cx.required_graph(attr::BODY)?;
    let round = usize::try_from(control.round).unwrap_or(usize::MAX);
    let each = cx.listed(0).map_or(0, |list| list.len());
    let each = if each > MAX_EACH { 0 } else { each };
    if round == 0 {
        let (inputs, outputs) = (cx.input_count(), cx.output_count());
        cx.body_arity(body, inputs, outputs)?;
    } else if round <= each {
        let results = cx.raw_results(body);
        let results = cx.export(results, body);
        control.saved.push(results);
    }
    // The last visit is with what holds for all elements, which is then known of the values in the body.
    if round <= each {
        let bound = bind(cx, body, (round < each).then_some(round));
        if bound.is_err() && round > 0 {
            cx.state.forget_graph(body);
        }
        bound?;
        return Ok(Step::Enter(body, Runs::Maybe));
    }
    for (index, known) in cx.raw_results(body).into_iter().enumerate() {
        let Some(ty) = known.ty.to_type() else { continue };
        let ty = with_shapes(&ty, &mut |shape| {
            let mut shape = shape.clone();
            for dim in shape.dims_mut() {
                let symbols = cx.state.exprs.symbols(*dim);
                if symbols.into_iter().any(|symbol| cx.state.is_local(symbol, body)) {
                    *dim = Dim::Unknown;
                }
            }
            Some(shape)
        });
        cx.set_ty(index, Type::sequence(ty));
        let list: Option<Vec<Known>> =
            control.saved.iter().map(|results| results.get(index).cloned()).collect();
        if let Some(list) = list.filter(|list| !list.is_empty() && list.len() == each) {
            cx.set_members(index, Members::Listed(list));
        }
    }
    Ok(Step::Done)
}

/// Gives the inputs of the body the types for one element, or for all.
fn bind(cx: &mut Cx<'_, '_>, body: GraphId, element: Option<usize>) -> Outcome {
    for index in 0..cx.input_count() {
        let known = match cx.ty(index) {
            Ty::Other(ty) if matches!(ty.kind, TypeKind::Sequence(_)) => {
                let all = || Known { ty: ty.inner().map_or(Ty::Unknown, Ty::from), content: None };
                let one = element.and_then(|at| cx.listed(index)?.into_iter().nth(at));
                one.unwrap_or_else(all)
            }
            Ty::Unknown => Known::default(),
            _ if index == 0 => return Err(cx.fail(&WRONG_KIND, "input 0 is not a sequence")),
            _ => cx.known(index),
        };
        cx.bind(body, index, known, true)?;
    }
    Ok(())
}
