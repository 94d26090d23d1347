//! The derivation of the answers that an edit used: the values whose elements they depend on.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Content;
use onnx_types::Limits;

use crate::collect::Recorded;
use crate::keys::KeySet;

/// The dependencies of the answers about elements.
#[derive(Default)]
pub(crate) struct Used {
    /// The values whose elements an edit used, and those from which these were derived: through nodes, as long as the elements
    /// of operands are known. A constant among them keeps its elements in the claim, and nodes between them are part of it.
    pub(crate) elements: KeySet<ValueId>,
    /// The values at which that ends: known elements were derived from their sizes.
    pub(crate) sizes: Vec<ValueId>,
}

/// The dependencies of recorded answers.
pub(crate) fn used_elements(
    model: &Model,
    recorded: &[Recorded],
    content: &dyn Fn(ValueId) -> Option<Content>,
) -> Used {
    let mut used = Used::default();
    let mut open: Vec<ValueId> = Vec::new();
    for recorded in recorded {
        match *recorded {
            Recorded::Content(value) => open.push(value),
            Recorded::Constant(value) => {
                used.elements.insert(value, ());
            }
            _ => {}
        }
    }
    let is_small_constant = |value: ValueId| {
        let count = model.constant_tensor(value).and_then(onnx_types::tensor::Tensor::element_count);
        count.is_some_and(|count| count <= Limits::DEFAULT.followed_elements as u64)
    };
    while let Some(value) = open.pop() {
        let Some(record) = model.get_value(value) else { continue };
        if used.elements.insert(value, ()).is_some() || model.constant_tensor(value).is_some() {
            continue;
        }
        let Some(node) = record.producer() else { continue };
        let record = model.node(node);
        let is_known = |value: ValueId| content(value).is_some() || is_small_constant(value);
        // Outputs of a branch, and the body of a loop.
        let results = record.nested_graphs().flat_map(|graph| model.graph(graph).outputs());
        for operand in record.inputs().flatten().chain(results.map(onnx_ir::GraphOutput::value)) {
            if is_known(operand) {
                open.push(operand);
            } else if !used.sizes.contains(&operand) {
                used.sizes.push(operand);
            }
        }
        // The elements of the outputs of a loop can be known from its iterations, although no value of its body is
        // known.
        let inner = record.nested_graphs().flat_map(|graph| model.nodes_in(graph));
        open.extend(
            inner.flat_map(|node| model.node(node).inputs().flatten()).filter(|&value| is_known(value)),
        );
    }
    used
}
