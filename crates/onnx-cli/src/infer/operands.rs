//! Operands whose types contradict each other, so that a node has no result.

use onnx_diag::Rule;
use onnx_ir::{Callee, Model, NodeId};
use onnx_schema::{FormalType, Registry};
use onnx_shape_infer::{Inference, fault};
use onnx_types::ElemType;

/// Whether a rule is about the types of operands.
pub(super) fn is_about(rule: &Rule) -> bool {
    [&fault::TYPES_DIFFER, &fault::TYPE_NOT_ALLOWED].contains(&rule)
}

/// Returns `true` if a node has operands of different element types where one type variable says that they are the same.
pub(super) fn contradict(model: &Model, inference: &Inference, registry: &Registry) -> bool {
    let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.any(|node| differ(model, node, inference, registry))
}

fn differ(model: &Model, node: NodeId, inference: &Inference, registry: &Registry) -> bool {
    let Callee::Standard(schema) = model.callee(node, registry) else { return false };
    let mut known: [Option<ElemType>; 16] = [None; 16];
    for (index, input) in model.node(node).inputs().enumerate() {
        let Some(formal) = schema.input_for(index) else { break };
        let is_shared = !formal.is_variadic() || formal.is_homogeneous;
        let (FormalType::Variable(variable), true) = (formal.ty, is_shared) else { continue };
        let Some(elem) = input.and_then(|input| inference.elem(input)) else { continue };
        let Some(known) = known.get_mut(usize::from(variable)) else { continue };
        if known.replace(elem).is_some_and(|other| other != elem) {
            return true;
        }
    }
    false
}
