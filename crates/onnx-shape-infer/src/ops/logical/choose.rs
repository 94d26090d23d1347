//! `Where`: elements of one tensor or another as a condition says; all three broadcast.
//!
//! An element whose condition is not known is known where both choices are the same. So a shape in which -1 means "as it
//! was" is followed: a size is never -1.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{all, zip};
use crate::family::comparison::truth;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::WHERE, &[since(9, all)]).values(&[since(9, values)]);

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    zip(cx, &[0, 1, 2], |_, elems| match *elems {
        [condition, yes, no] => match truth(condition) {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => Elem::Unknown,
        },
        _ => Elem::Unknown,
    })
}
