//! The pass `constants-as-initializers`: `Constant` nodes become initializers.

use onnx_ir::{Constant, Cursor, Model, NodeId, OpsetScope};
use onnx_schema::op;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::references::References;
use crate::restructure::constant_of;

/// The name of the pass.
const NAME: &str = "constants-as-initializers";

/// The first version of the file format in which initializers are not inputs.
const WITHOUT_INPUTS: i64 = 4;

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Makes `Constant` nodes initializers.", Exactness::Exact, constants_as_initializers)
        .with_page(include_str!("constants_as_initializers.md"))
}

/// Makes each `Constant` node an initializer of its graph. Those of functions stay, since functions have no initializers, and
/// so do outputs of graphs, and values to which annotations, training bindings or device configurations refer.
pub fn constants_as_initializers(cx: &mut PassCx<'_>) -> Report {
    let references = cx.references();
    cx.restructure(NAME, |model| {
        if model.info().ir_version < WITHOUT_INPUTS {
            return 0;
        }
        let mut lifted = 0;
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            if model.node(node).is(op::CONSTANT) && model.scope(model.node(node).graph()) == OpsetScope::Model
            {
                lifted += usize::from(lift(model, node, &references));
            }
        }
        lifted
    })
}

fn lift(model: &mut Model, node: NodeId, references: &References) -> bool {
    let Some(value) = model.node(node).output(0) else { return false };
    if model.is_graph_output(value) || !references.allow(value) {
        return false;
    }
    let Some(Constant::Dense(tensor)) = constant_of(model, value).map(std::borrow::Cow::into_owned) else {
        return false;
    };
    let (graph, name) = (model.node(node).graph(), model.value(value).name());
    let new = model.add_initializer(graph, name, Constant::Dense(tensor));
    model.replace_all_uses(value, new);
    model.take_name(new, value);
    model.erase_node(node).is_ok()
}
