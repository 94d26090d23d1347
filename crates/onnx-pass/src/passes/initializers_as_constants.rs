//! The pass `initializers-as-constants`: initializers become `Constant` nodes.

use onnx_ir::{Def, GraphId, Model, Position, ValueId};
use onnx_schema::{attr, op};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::makes_constants_of;

/// The name of the pass.
const NAME: &str = "initializers-as-constants";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Makes initializers `Constant` nodes.", Exactness::Exact, initializers_as_constants)
        .with_page(include_str!("initializers_as_constants.md"))
        .against("constants-as-initializers")
}

/// Makes each dense initializer a `Constant` node at the start of its graph, if the version in scope has its element type. Defaults of inputs and outputs of graphs
/// stay, and so do values to which annotations, training bindings or device configurations refer.
pub fn initializers_as_constants(cx: &mut PassCx<'_>) -> Report {
    let references = cx.references();
    cx.restructure(NAME, |model| {
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        let mut lowered = 0;
        for graph in graphs {
            let values: Vec<ValueId> = model.initializers(graph).collect();
            // The first one comes first.
            for value in values.into_iter().rev() {
                lowered += usize::from(references.allow(value) && lower(model, graph, value));
            }
        }
        lowered
    })
}

fn lower(model: &mut Model, graph: GraphId, value: ValueId) -> bool {
    let record = model.value(value);
    if !matches!(record.def(), Def::Initializer(_)) || model.is_graph_output(value) || !record.is_used() {
        return false;
    }
    let Some(tensor) = record.constant().and_then(|constant| constant.dense()).cloned() else { return false };
    if !makes_constants_of(model, graph, tensor.elem()) {
        return false;
    }
    let made = model.build_at(Position::Start(graph)).op(op::CONSTANT, []).attr(attr::VALUE, tensor).output();
    let Ok(new) = made else { return false };
    model.replace_all_uses(value, new);
    model.take_name(new, value);
    model.erase_value(value).is_ok()
}
