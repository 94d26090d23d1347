//! A sequence that is made of tensors only to concatenate them.

use onnx_ir::{Attribute, NodeId, Position, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, op};

use super::RuleFunction;

pub(super) fn rule() -> RuleFunction {
    let page = "Tensors that become a sequence and are then concatenated along an axis that they have are operands of a `Concat`.";
    RuleFunction::new("concat-sequence", Exactness::Exact, &["ConcatFromSequence"], edit).with_page(page)
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let record = model.node(node);
    let (Some(sequence), Some(old)) = (record.input(0), record.output(0)) else {
        return Err("an operand is omitted".into());
    };
    if record.attribute(attr::NEW_AXIS).and_then(Attribute::as_int).unwrap_or(0) != 0 {
        return Err("the tensors get a new axis".into());
    }
    let axis = record.attribute(attr::AXIS).and_then(Attribute::as_int).ok_or("the axis is not known")?;
    let maker = model.value(sequence).producer().ok_or("nothing makes the sequence")?;
    let made = model.node(maker);
    if !made.is(op::SEQUENCE_CONSTRUCT) || !made.domain().is_empty() {
        return Err("the sequence is not made of tensors".into());
    }
    let tensors: Option<Vec<ValueId>> = made.inputs().collect();
    let tensors = tensors.ok_or("an operand is omitted")?;
    patch.source(maker);
    for &tensor in &tensors {
        patch.tap(tensor);
    }
    let new = patch.build(Position::Before(node), |build| {
        build.op(op::CONCAT, tensors).attr(attr::AXIS, axis).output()
    })?;
    patch.replace(old, new);
    Ok(())
}
