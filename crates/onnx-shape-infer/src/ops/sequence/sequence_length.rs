//! `SequenceLength`: the number of elements, where that is known.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_LENGTH, &[since(11, rule)]).values(&[since(11, values)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, []);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(members) = cx.members(0) {
        cx.set_content(0, [Elem::int(members.count())]);
    }
    Ok(())
}
