//! `Size`: the number of elements, as a scalar.

use onnx_schema::op;

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::SIZE, &[since(1, size)]).values(&[since(1, value)]);

fn size(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, []);
    Ok(())
}

fn value(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape(0)?;
    let count = cx.product(&dims);
    cx.set_content(0, [Elem::int(count)]);
    Ok(())
}
