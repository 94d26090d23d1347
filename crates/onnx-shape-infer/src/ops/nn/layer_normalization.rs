//! `LayerNormalization`: the result has the shape of the input; the mean and the inverse deviation have 1 for each axis from
//! `axis` on, and the type that `stash_type` says. The scale and the bias must broadcast to the input, which the reference
//! does not compare.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome, Stop};
use crate::family::element_type::defined;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::LAYER_NORMALIZATION, &[since(17, normalize)]);

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = defined(cx, attr::STASH_TYPE)?.unwrap_or(ElemType::Float);
    cx.set_elem(1, elem);
    cx.set_elem(2, elem);
    let mut dims = cx.shape(0)?;
    for (input, what) in [(1, "the scale"), (2, "the bias")] {
        if let Ok(inner) = cx.shape(input) {
            cx.broadcasts_to(&inner, &dims, what)?;
        }
    }
    cx.set_shape(0, dims.clone());
    let axis = cx.int_or(attr::AXIS, -1)?;
    let axis = cx.axis(axis, dims.len())?;
    dims.get_mut(axis..).ok_or(Stop::Unknown)?.fill(Dim::Known(1));
    cx.set_shape(1, dims.clone());
    cx.set_dims(2, dims);
    Ok(())
}
