//! The pass `no-initializer-inputs`: inputs with a default become initializers only.

use onnx_ir::Def;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::restructure::Interface;

/// The name of the pass.
const NAME: &str = "no-initializer-inputs";

/// The first version of the file format in which initializers need not be inputs.
const WITHOUT_INPUTS: i64 = 4;

pub(super) fn pass() -> Pass {
    let summary = "Makes inputs with a default initializers only, which callers cannot override.";
    Pass::new(NAME, summary, Exactness::Exact, remove_initializer_inputs)
        .with_page(include_str!("no_initializer_inputs.md"))
}

/// Removes the inputs of the main graph that have a default: their initializers are kept. Callers that override one are
/// no longer accepted, so this is only for models that are run without.
pub fn remove_initializer_inputs(cx: &mut PassCx<'_>) -> Report {
    cx.restructure_with(NAME, Interface::FewerDefaults, |model| {
        let graph = model.main_graph();
        if model.info().ir_version < WITHOUT_INPUTS {
            return 0;
        }
        let mut removed = 0;
        for index in (0..model.graph(graph).inputs().len()).rev() {
            let Some(&input) = model.graph(graph).inputs().get(index) else { continue };
            if matches!(model.value(input).def(), Def::Input { .. })
                && model.value(input).initializer().is_some()
            {
                model.remove_graph_input(graph, index);
                removed += 1;
            }
        }
        removed
    })
}
