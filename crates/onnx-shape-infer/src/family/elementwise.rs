//! Operators that treat each element by itself.

use crate::cx::{Cx, Outcome};

/// The first output has the shape of the first input; its element type follows from the schema.
pub(crate) fn like_first(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)
}

/// The first output is what the first input is, whatever kind of value that is, with the same elements.
pub(crate) fn identity(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_ty(0, 0);
    Ok(())
}

/// The first output has the elements of the first input in the same order.
pub(crate) fn keep_elements(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(content) = cx.content(0) {
        cx.set_content(0, content.iter().copied());
    }
    Ok(())
}
