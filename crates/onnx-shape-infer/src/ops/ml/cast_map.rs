//! `CastMap`: the values of a map as one row, in the order of the keys, or with zeros for the keys that are missing.
//!
//! The number of values in a dense row is known only at run time. The reference infers only the element type.

use onnx_schema::{attr, domain, op};
use onnx_types::{Dim, ElemType};

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
    let size = match (cx.text(attr::MAP_FORM)?, cx.int(attr::MAX_MAP)?) {
        (Some("SPARSE"), Some(max)) if max > 0 => Dim::Known(max),
        _ => Dim::Unknown,
    };
    cx.set_shape(0, [Dim::Known(1), size]);
    Ok(())
}
