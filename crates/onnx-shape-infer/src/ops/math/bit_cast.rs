//! `BitCast`: the same bits read as another type of the same width. The shape stays.
//!
//! Types of different widths are a fault. Elements are not followed.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::family::element_type;
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::BIT_CAST, &[since(26, bit_cast)]);

fn bit_cast(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(to) = element_type::attribute(cx, attr::TO)? else {
        return Err(cx.fail(&MISSING, "attribute `to` is missing"));
    };
    if to == onnx_types::ElemType::Undefined {
        return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `to` names no element type"));
    }
    let from = cx.elem(0).ok().and_then(onnx_types::ElemType::bits);
    if let (Some(from), Some(to)) = (from, to.bits())
        && from != to
    {
        return Err(cx.fail(
            &BAD_ATTRIBUTE,
            format_args!("elements of {from} bits cannot be read as ones of {to} bits"),
        ));
    }
    cx.set_elem(0, to);
    cx.copy_shape(0, 0)
}
