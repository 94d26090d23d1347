//! `SequenceLength`: the number of elements, which is not followed.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SEQUENCE_LENGTH, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, []);
    Ok(())
}
