//! The pass `sorted`: each node comes after the nodes whose results it uses.

use onnx_ir::GraphId;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "sorted";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Places each node after those whose results it uses.", Exactness::Exact, sorted)
        .with_page(include_str!("sorted.md"))
}

/// Sorts the nodes of each graph topologically; nodes that are in order keep their order. A graph with a cycle is
/// unchanged.
pub fn sorted(cx: &mut PassCx<'_>) -> Report {
    let unsorted: Vec<GraphId> =
        cx.model().all_graphs().filter(|&graph| !cx.model().is_sorted(graph)).collect();
    if unsorted.is_empty() {
        return Report::default();
    }
    cx.restructure(NAME, |model| unsorted.into_iter().filter(|&graph| model.sort(graph).is_ok()).count())
}
