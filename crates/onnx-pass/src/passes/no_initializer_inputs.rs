//! The pass `no-initializer-inputs`: inputs with a default become initializers only.

use onnx_ir::{Def, ValueId};

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
    Pass::new(NAME, summary, Exactness::Exact, no_initializer_inputs)
        .with_page(include_str!("no_initializer_inputs.md"))
}

/// Removes the inputs of the main graph that have a default: their initializers are kept. Callers that override one are
/// no longer accepted, so this is only for models that are run without.
pub fn no_initializer_inputs(cx: &mut PassCx<'_>) -> Report {
    let model = cx.model();
    let graph = model.main_graph();
    let has_default = |input: ValueId| {
        let value = model.value(input);
        matches!(value.def(), Def::Input { .. }) && value.initializer().is_some()
    };
    let (overridable, kept): (Vec<ValueId>, Vec<ValueId>) =
        model.graph(graph).inputs().iter().partition(|&&input| has_default(input));
    if overridable.is_empty() || model.info().ir_version < WITHOUT_INPUTS {
        return Report::default();
    }
    cx.restructure_with(NAME, Interface::FewerDefaults, |model| match model.set_graph_inputs(graph, &kept) {
        Ok(()) => overridable.len(),
        Err(_) => 0,
    })
}
