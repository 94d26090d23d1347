//! The pass `initializers-as-inputs`: initializers become inputs with a default.

use onnx_ir::{Def, ValueId};
use onnx_types::{Dim, Type};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::restructure::Interface;

/// The name of the pass.
const NAME: &str = "initializers-as-inputs";

pub(super) fn pass() -> Pass {
    let summary =
        "Makes the initializers of the main graph inputs with a default, which callers can override.";
    Pass::new(NAME, summary, Exactness::Exact, initializers_as_inputs)
        .with_page(include_str!("initializers_as_inputs.md"))
        .against("no-initializer-inputs")
}

/// Adds an input for each dense initializer of the main graph: its default. Readers of version 3 of the format need them, and
/// callers can override them.
pub fn initializers_as_inputs(cx: &mut PassCx<'_>) -> Report {
    cx.restructure_with(NAME, Interface::MoreDefaults, |model| {
        let graph = model.main_graph();
        let values: Vec<ValueId> = model.initializers(graph).collect();
        let mut added = 0;
        for value in values {
            let record = model.value(value);
            let Some(constant) = record.constant().cloned() else { continue };
            let (Def::Initializer(_), Some(tensor)) = (record.def(), constant.dense()) else { continue };
            let ty =
                Type::tensor(tensor.elem(), Some(tensor.dims().iter().copied().map(Dim::Known).collect()));
            let is_declared = record.ty().is_some();
            // Only a value without a definition can become an input.
            model.set_initializer(graph, value, None);
            if model.push_graph_input(graph, value).is_ok() {
                if !is_declared {
                    model.set_type(value, Some(ty));
                }
                added += 1;
            }
            model.set_initializer(graph, value, Some(constant));
        }
        added
    })
}
