//! Operators that treat each element by itself.

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::family::layout::{Sizes, Small, fill};

/// The first output has the shape of the first input; its element type follows from the schema.
pub(crate) fn like_first(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)
}

/// The first output is what the first input is, whatever kind of value that is, with the same elements.
pub(crate) fn identity(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_ty(0, 0);
    if let Some(members) = cx.members(0) {
        cx.set_members(0, members);
    }
    Ok(())
}

/// The first output has the elements of the first input in the same order.
pub(crate) fn keep_elements(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(content) = cx.content(0) {
        cx.share_content(0, content);
    }
    Ok(())
}

/// The first output, whose shape has been set, holds the elements of the first input again and again along its axes; input
/// axes that it has more of are repeated from the front.
pub(crate) fn repeat_first(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = Small::of(cx, 0)?;
    fill(cx, 0, |at| {
        let inner = at.iter().skip(at.len().saturating_sub(data.sizes.len()));
        let from: Option<Sizes> = inner.zip(&data.sizes).map(|(&at, &size)| at.checked_rem(size)).collect();
        from.map_or(Elem::Unknown, |from| data.at(&from))
    })
}
