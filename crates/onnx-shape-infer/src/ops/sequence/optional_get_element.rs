//! `OptionalGetElement`: the value of an optional one, or any other value as it is.

use onnx_schema::op;
use onnx_types::TypeKind;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};
use crate::ty::Ty;

pub(super) const RULES: OpRules = infer(op::OPTIONAL_GET_ELEMENT, &[since(15, rule)])
    .values(&[since(15, crate::family::elementwise::keep_elements)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let ty = match cx.ty(0) {
        Ty::Other(ty) if matches!(ty.kind, TypeKind::Optional(_)) => ty.inner().map_or(Ty::Unknown, Ty::from),
        ty => ty,
    };
    if ty != Ty::Unknown {
        cx.set_ty(0, ty);
    }
    Ok(())
}
