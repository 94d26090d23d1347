//! `Optional`: a value that may be absent: the input, or none of the type that an attribute names.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::Type;

use crate::cx::{Cx, Outcome};
use crate::fault::MISSING;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::OPTIONAL, &[since(15, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.has_input(0) {
        if let Some(ty) = cx.ty(0).to_type() {
            cx.set_ty(0, Type::optional(ty));
        }
        return Ok(());
    }
    match cx.attribute(attr::TYPE).map(onnx_ir::Attribute::value) {
        Some(AttrValue::Type(ty)) => {
            // The optional is empty, so no value can contradict the declared sizes.
            if let Some(ty) = cx.state.declared(ty).to_type() {
                cx.set_ty(0, Type::optional(ty));
            }
            Ok(())
        }
        _ if cx.node().attribute(attr::TYPE).is_some() => Ok(()),
        _ => Err(cx.fail(&MISSING, "neither an input nor the attribute `type` is given")),
    }
}
