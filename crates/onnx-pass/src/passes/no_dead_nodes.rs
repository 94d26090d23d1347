//! The pass `no-dead-nodes`: nodes whose outputs nothing uses are erased.

use onnx_ir::GraphId;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-dead-nodes";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Erases nodes whose outputs nothing uses.", Exactness::Exact, no_dead_nodes)
        .with_page(include_str!("no_dead_nodes.md"))
}

/// Erases nodes whose outputs nothing uses, in all graphs and functions.
pub fn no_dead_nodes(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let roots: Vec<GraphId> = model.roots().chain(model.algorithms()).collect();
        model.erase_dead_nodes_in(&roots)
    })
}
