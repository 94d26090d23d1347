//! `PRelu`: a slope for negative elements, laid along the input.
//!
//! From version 7 on the slope broadcasts to the input. The specification has it in that direction only, and the reference
//! takes the shape of the input whatever the slope is; runtimes broadcast both ways. The shape of both together is right
//! for each of them: it is that of the input wherever the specification allows the node. A slope of unknown rank is taken
//! to follow the specification.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::all;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::P_RELU, &[since(1, like_first), since(7, broadcast)]);

fn broadcast(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.rank(1).is_err() { like_first(cx) } else { all(cx) }
}
