//! What the answers that an edit used were derived from: the values whose elements count.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Content;
use onnx_types::Limits;

use crate::extract::Recorded;
use crate::keys::KeySet;

/// The values whose elements an edit used, and those from which these were derived: through nodes, as long as the elements of
/// operands are known. A constant among them keeps its elements in the claim, and nodes between them are part of it.
pub(crate) fn used_elements(
    model: &Model,
    recorded: &[Recorded],
    content: &dyn Fn(ValueId) -> Option<Content>,
) -> KeySet<ValueId> {
    let mut used = KeySet::default();
    let mut open: Vec<ValueId> = Vec::new();
    for recorded in recorded {
        match *recorded {
            Recorded::Content(value) => open.push(value),
            Recorded::Constant(value) => {
                used.insert(value, ());
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
        if used.insert(value, ()).is_some() || model.constant_tensor(value).is_some() {
            continue;
        }
        let Some(node) = record.producer() else { continue };
        let operands = model.node(node).inputs().flatten();
        open.extend(operands.filter(|&operand| content(operand).is_some() || is_small_constant(operand)));
    }
    used
}
