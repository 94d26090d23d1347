//! `OptionalHasElement`: a truth value. No input at all is an absent value, and one that is not optional is there.

use onnx_schema::op;
use onnx_types::{ElemType, TypeKind};

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules =
    infer(op::OPTIONAL_HAS_ELEMENT, &[since(15, rule)]).values(&[since(15, values)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_elem(0, ElemType::Bool);
    cx.set_shape(0, []);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_there = match cx.ty(0) {
        _ if !cx.has_input(0) => false,
        Ty::Unknown => return Err(Stop::Unknown),
        Ty::Other(ty) if matches!(ty.kind, TypeKind::Optional(_)) => return Err(Stop::Unknown),
        _ => true,
    };
    cx.set_content(0, [Elem::bool(is_there)]);
    Ok(())
}
