//! Heads of attention, packed into the last axis or on a separate axis.

use onnx_types::{Dim, Symbol};

use crate::cx::{Cx, Outcome};
use crate::facts::Relation;
use crate::fault::{BAD_ATTRIBUTE, MISSING, SIZES_DIFFER};

/// What an attribute says about the number of heads.
///
/// # Errors
///
/// With a finding when it is missing or not positive.
pub(super) fn count(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<i64> {
    let count = cx.int(name)?;
    let text = cx.names().resolve(name).to_owned();
    match count {
        Some(count) if count > 0 => Ok(count),
        Some(count) => {
            Err(cx.fail(&BAD_ATTRIBUTE, format_args!("attribute `{text}` is {count}, which is not positive")))
        }
        None => Err(cx.fail(&MISSING, format_args!("attribute `{text}` is missing"))),
    }
}

/// The size of one of `heads` heads that share an axis.
///
/// # Errors
///
/// Reports a diagnostic if the size of the axis is not a multiple of their number.
pub(super) fn share(cx: &mut Cx<'_, '_>, packed: Dim, heads: i64) -> Outcome<Dim> {
    if let Dim::Known(size) = packed
        && size.checked_rem(heads) != Some(0)
    {
        return Err(
            cx.fail(&SIZES_DIFFER, format_args!("{size} elements are not a multiple of {heads} heads"))
        );
    }
    let heads = Dim::Known(heads);
    if packed.is_unknown() {
        return Ok(Dim::Unknown);
    }
    if let Some(quotient) = cx.dims().quotient(packed, heads) {
        return Ok(quotient);
    }
    cx.prove(Relation::Divides(heads, packed));
    Ok(cx.dims().exact_div(packed, heads))
}

/// The number of heads of the query must be a multiple of the number that they share.
///
/// # Errors
///
/// With a finding when it is not.
pub(super) fn grouped(cx: &mut Cx<'_, '_>, query: Dim, shared: Dim) -> Outcome {
    if let (Dim::Known(query), Dim::Known(shared)) = (query, shared)
        && shared != 0
        && query.checked_rem(shared) != Some(0)
    {
        let message =
            format_args!("{query} heads of the query are not a multiple of {shared} heads of the key");
        return Err(cx.fail(&SIZES_DIFFER, message));
    }
    Ok(())
}
