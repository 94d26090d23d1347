//! `CastMap`: the values of a map in the order of the keys, or with zeros for the keys that are missing.
//!
//! The specification does not state which rank the result is, and runtimes return one row. So only the element type is inferred,
//! as by the reference.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::fault::BAD_ATTRIBUTE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::CAST_MAP, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let elem = match cx.text(attr::CAST_TO)? {
        Some("TO_FLOAT") => ElemType::Float,
        Some("TO_INT64") => ElemType::Int64,
        Some("TO_STRING") => ElemType::String,
        _ => return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `cast_to` names no type")),
    };
    cx.set_elem(0, elem);
    Ok(())
}
