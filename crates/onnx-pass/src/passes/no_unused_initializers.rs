//! The pass `no-unused-initializers`: initializers that nothing uses are erased.

use onnx_ir::GraphId;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-unused-initializers";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Erases initializers that nothing uses.", Exactness::Exact, no_unused_initializers)
        .with_page(include_str!("no_unused_initializers.md"))
        .after("no-dead-nodes")
}

/// Erases initializers that no node, output, quantization annotation or training binding uses. Inputs with a default
/// are kept.
pub fn no_unused_initializers(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        model.erase_unused_initializers_in(&graphs)
    })
}
