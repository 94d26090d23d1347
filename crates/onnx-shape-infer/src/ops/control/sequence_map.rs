//! `SequenceMap`: a graph that is run for each element of a sequence, and of further sequences of the same length; other
//! inputs are given to each run as they are.
//!
//! The outputs are sequences of what the graph gives. A size that only a run determines may differ from element to
//! element, so it is not known.

use onnx_schema::{attr, op};
use onnx_types::{Dim, Type, TypeKind};

use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::fault::WRONG_KIND;
use crate::registry::{OpRules, infer, since_control};
use crate::ty::{Ty, with_shapes};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_MAP, &[since_control(17, rule)]);

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control) -> Outcome<Step> {
    let body = cx.required_graph(attr::BODY)?;
    if control.round == 0 {
        let (inputs, outputs) = (cx.input_count(), cx.output_count());
        cx.body_arity(body, inputs, outputs)?;
        for index in 0..inputs {
            let known = match cx.ty(index) {
                Ty::Other(ty) if matches!(ty.kind, TypeKind::Sequence(_)) => {
                    Known { ty: ty.inner().map_or(Ty::Unknown, Ty::from), content: None }
                }
                Ty::Unknown => Known::default(),
                _ if index == 0 => return Err(cx.fail(&WRONG_KIND, "input 0 is no sequence")),
                _ => cx.known(index),
            };
            cx.bind(body, index, known, true)?;
        }
        return Ok(Step::Enter(body, Runs::Maybe));
    }
    for (index, known) in cx.raw_results(body).into_iter().enumerate() {
        let Some(ty) = known.ty.to_type() else { continue };
        let ty = with_shapes(&ty, &mut |shape| {
            let mut shape = shape.clone();
            for dim in shape.dims_mut() {
                let symbols = cx.state.symbols(*dim);
                if symbols.into_iter().any(|symbol| cx.state.is_local(symbol, body)) {
                    *dim = Dim::Unknown;
                }
            }
            Some(shape)
        });
        cx.set_ty(index, Type::sequence(ty));
    }
    Ok(Step::Done)
}
