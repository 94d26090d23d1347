//! `CastLike`: `Cast` to the element type of the second operand.

use onnx_ir::Attribute;
use onnx_schema::{attr, domain, op};

use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let (x, to) = (draft.input(0)?, draft.elem(1)?);
    let mut attributes = vec![Attribute::new(attr::TO, i64::from(to.code()))];
    let schema = onnx_schema::lookup(domain::ONNX, op::CAST, draft.version());
    let has = |name| schema.is_some_and(|schema| schema.attribute(name).is_some());
    if has(attr::SATURATE) {
        attributes.push(Attribute::new(attr::SATURATE, draft.int(attr::SATURATE)?));
    }
    if has(attr::ROUND_MODE) {
        attributes.push(Attribute::new(attr::ROUND_MODE, draft.text(attr::ROUND_MODE)?.as_str()));
    }
    Ok(vec![draft.op(op::CAST, &[x], attributes)?])
}
