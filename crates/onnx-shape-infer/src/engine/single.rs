//! The inputs that have one element, as a scalar or as a vector of one, which runtimes take for one.
//!
//! `Loop`, `If` and `TopK` say by themselves what is wrong with theirs.

use crate::cx::{Cx, Outcome};

/// Whether the inputs of a node that are one number have one element, as far as their shapes are known.
///
/// # Errors
///
/// With a finding when one has another number of elements.
pub(super) fn check(cx: &mut Cx<'_, '_>) -> Outcome {
    for &input in cx.schema.map_or(&[][..], |schema| schema.traits().scalars()) {
        if cx.has_input(input) {
            cx.one_element(input, &format!("input {input}"))?;
        }
    }
    Ok(())
}
