//! Attention: over whole sequences, with caches of keys and values, over packed tokens, and the linear kind.

pub(super) mod cached;
pub(super) mod linear;
pub(super) mod multi_head;
pub(super) mod packed;
pub(super) mod position;
pub(super) mod sparse;

use onnx_types::Dim;

use crate::cx::{Cx, Outcome};

/// An attribute with a number of heads; unknown if it is not positive.
fn heads(cx: &mut Cx<'_, '_>, name: &str) -> Outcome<Dim> {
    Ok(cx.int(name)?.filter(|&heads| heads > 0).map_or(Dim::Unknown, Dim::Known))
}

/// The size of one of `heads` heads that have `width` elements together.
fn of_head(cx: &mut Cx<'_, '_>, width: Dim, heads: Dim) -> Dim {
    if heads.known().is_some() { cx.dims().floor_div(width, heads) } else { Dim::Unknown }
}

/// The width of the values whose projection is merged with that of queries and keys: `all` elements together, a third
/// each unless `qkv_hidden_sizes` is given.
fn merged_width(cx: &mut Cx<'_, '_>, all: Dim) -> Outcome<Dim> {
    Ok(match cx.ints("qkv_hidden_sizes")? {
        Some(&[_, _, width]) => Dim::Known(width),
        Some([]) | None => cx.dims().floor_div(all, Dim::Known(3)),
        Some(_) => Dim::Unknown,
    })
}
