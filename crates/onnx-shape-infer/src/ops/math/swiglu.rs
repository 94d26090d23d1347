//! `SwiGLU`: one tensor gated by another of the same shape; nothing broadcasts.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::family::elementwise::like_first;
use crate::fault::WRONG_RANK;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SWI_GLU, &[since(28, swiglu)]);

fn swiglu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (Ok(mut dims), Ok(linear)) = (cx.shape(0), cx.shape(1)) else {
        return if cx.shape(0).is_ok() { like_first(cx) } else { cx.copy_shape(1, 0) };
    };
    if dims.len() != linear.len() {
        let (gate, linear) = (dims.len(), linear.len());
        return Err(
            cx.fail(&WRONG_RANK, format_args!("the gate has rank {gate} and the other input {linear}"))
        );
    }
    for (dim, size) in dims.iter_mut().zip(linear) {
        *dim = cx.same(*dim, size, "the sizes of the inputs")?;
    }
    cx.set_dims(0, dims);
    Ok(())
}
