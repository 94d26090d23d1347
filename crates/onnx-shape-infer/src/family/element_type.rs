//! Element types that an attribute names.

use onnx_types::{ElemType, Symbol};

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::BAD_ATTRIBUTE;

/// The element type that an integer attribute (or its default) names; `None` if it is absent, [`ElemType::Undefined`]
/// if it is 0.
pub(crate) fn attribute(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<Option<ElemType>> {
    let Some(code) = cx.int(name)? else { return Ok(None) };
    match i32::try_from(code).ok().and_then(ElemType::from_code) {
        Some(elem) => Ok(Some(elem)),
        None => Err(refused(cx, name, code)),
    }
}

/// The same where 0 is refused, too.
pub(crate) fn defined(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<Option<ElemType>> {
    match attribute(cx, name)? {
        Some(ElemType::Undefined) => Err(refused(cx, name, 0)),
        known => Ok(known),
    }
}

fn refused(cx: &mut Cx<'_, '_>, name: Symbol, code: i64) -> Stop {
    let name = cx.names().resolve(name).to_owned();
    cx.fail(&BAD_ATTRIBUTE, format_args!("attribute `{name}` is {code}, which is not an element type"))
}
