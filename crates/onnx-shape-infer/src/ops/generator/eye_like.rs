//! `EyeLike`: ones along a diagonal, in the shape of a matrix, and in its type unless another is given.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::EYE_LIKE, &[since(9, eye_like)]);

fn eye_like(cx: &mut Cx<'_, '_>) -> Outcome {
    match element_type::attribute(cx, attr::DTYPE)? {
        Some(elem) => cx.set_elem(0, elem),
        None => {
            if let Ok(elem) = cx.elem(0) {
                cx.set_elem(0, elem);
            }
        }
    }
    let dims = cx.shape_of_rank(0, 2)?;
    cx.set_dims(0, dims);
    Ok(())
}
