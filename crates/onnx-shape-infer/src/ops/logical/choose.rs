//! `Where`: elements of one tensor or another as a condition says; all three broadcast.
//!
//! An element whose condition depends on sizes is a selection of both choices, and is known where these are the same. So a
//! shape in which -1 means "as it was" is followed: a size is never -1.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{all, zip};
use crate::family::comparison::choose;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::WHERE, &[since(9, all)]).values(&[since(9, values)]);

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    zip(cx, &[0, 1, 2], |cx, elems| match *elems {
        [condition, yes, no] => choose(cx, condition, yes, no),
        _ => Elem::Unknown,
    })
}
