//! The pass `no-unused-functions`: functions that nothing calls are removed.

use onnx_ir::Model;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-unused-functions";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Removes functions that nothing calls.", Exactness::Exact, no_unused_functions)
        .with_page(include_str!("no_unused_functions.md"))
        .after("no-dead-nodes")
}

/// Removes functions that neither a graph of the model nor a function that is kept calls.
pub fn no_unused_functions(cx: &mut PassCx<'_>) -> Report {
    if cx.model().functions().is_empty() {
        return Report::default();
    }
    cx.restructure(NAME, Model::erase_unused_functions)
}
