//! The pass `folded-constants`: nodes whose operands are constants become constants.

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::tensor::Tensor;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "folded-constants";

/// Bytes by which a result may be larger than the operands.
const GROWTH: u64 = 1024;

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Computes nodes whose operands are constants.", Exactness::Rounding, fold_constants)
        .with_page(include_str!("folded_constants.md"))
        .after("sorted")
}

/// Computes the nodes whose operands are all constants. A result that is larger than the operands by more than a kilobyte
/// is not stored, so that the file does not grow, and operators whose rounding the standard leaves open are only folded if
/// the options allow [`Exactness::Rounding`].
pub fn fold_constants(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    let mut report = Report::default();
    let mut cursor = onnx_ir::Cursor::all(cx.model());
    while let Some(node) = cx.next(&mut cursor) {
        let model = cx.model();
        if !is_candidate(model, node) || !model.is_deterministic(node, registry) {
            continue;
        }
        let class = match has_open_rounding(model, node, registry) {
            true => Exactness::Rounding,
            false => Exactness::Exact,
        };
        let mut patch = cx.patch(NAME, class);
        patch.source(node);
        match fold(&mut patch, node) {
            Ok(()) => report.commit(patch),
            Err(reason) => report.miss(patch.model(), node, &reason),
        }
    }
    report
}

/// A node without graphs whose operands are initializers or `Constant` nodes.
fn is_candidate(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let is_constant = |value: ValueId| {
        let record = model.value(value);
        let is_node = record.producer().is_some_and(|producer| model.node(producer).is(op::CONSTANT));
        record.constant().is_some() || is_node
    };
    let mut operands = record.inputs().flatten().peekable();
    record.nested_graphs().next().is_none()
        && !record.is(op::CONSTANT)
        // One that stays connects a constant with an output.
        && !record.is(op::IDENTITY)
        && operands.peek().is_some()
        && operands.all(is_constant)
}

fn fold(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let mut size = GROWTH;
    let operands: Vec<ValueId> = patch.model().node(node).inputs().flatten().collect();
    for operand in operands {
        size = size.saturating_add(bytes(&patch.try_constant(operand)?));
    }
    let outputs = patch.model().node(node).outputs().iter().flatten().copied();
    let outputs: Vec<ValueId> = outputs.filter(|&output| patch.model().value(output).is_used()).collect();
    if outputs.is_empty() {
        return Err("nothing uses it".into());
    }
    for output in outputs {
        // The claim has the constants, since the edit depends on their elements.
        let tensor = patch.evaluate(output)?;
        if bytes(&tensor) > size {
            return Err(Reason::new(format!(
                "the result has {} bytes, and the operands {size}",
                bytes(&tensor)
            )));
        }
        let new = patch.new_constant(Position::Before(node), tensor)?;
        patch.replace(output, new);
    }
    Ok(())
}

/// Returns `true` unless all implementations compute the same bits.
fn has_open_rounding(model: &Model, node: NodeId, registry: &Registry) -> bool {
    model.callee(node, registry).standard().is_none_or(|schema| onnx_eval::has_open_rounding(schema.id()))
}

fn bytes(tensor: &Tensor) -> u64 {
    tensor.byte_len().unwrap_or(u64::MAX)
}
