//! Float attributes in `double`, in which these kernels compute.

use crate::cx::{Cx, Outcome};

/// A float attribute; `None` if the node does not have it.
pub(super) fn float(cx: &Cx<'_, '_>, name: &str) -> Outcome<Option<f64>> {
    Ok(cx.float(name)?.map(f64::from))
}

/// A list of floats, empty if the node does not have it.
pub(super) fn floats(cx: &Cx<'_, '_>, name: &str) -> Outcome<Vec<f64>> {
    Ok(cx.floats(name)?.unwrap_or_default().into_iter().map(f64::from).collect())
}
