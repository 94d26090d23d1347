//! `Cast`: the type is a text in version 1.

use onnx_schema::attr;
use onnx_types::ElemType;

use crate::step::{Reason, Step};

/// The number of the type that `to` names.
pub(crate) fn numbered_types(step: &mut Step<'_>) -> Result<(), Reason> {
    let name = step.text(attr::TO)?.ok_or("`to` is omitted")?;
    let elem = ElemType::all().find(|elem| elem.proto_name() == name);
    let elem = elem.ok_or_else(|| Reason::new(format!("`to` names no type: {name:?}")))?;
    step.set(attr::TO, i64::from(elem.code()))
}
