//! Attributes that become operands: constants with the same elements.

use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, attr, op};
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

use crate::step::{Reason, Step, float_scalar};

/// Makes operands of all attributes that the new version has as operands; omitted ones with a default get that.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), Reason> {
    let (old, new) = (step.old, step.new);
    for formal in old.attributes() {
        if new.attributes().iter().any(|other| other.name == formal.name) {
            continue;
        }
        let name = match (new.op(), formal.name) {
            (op::PAD, attr::VALUE) => "constant_value",
            (op::TOP_K, attr::K) => "K",
            _ => formal.text(),
        };
        let Some(index) = new.inputs().iter().position(|input| input.name == name) else { continue };
        let value = match (step.given(formal.name)?, formal.default) {
            (Some(value), _) => value,
            (None, Some(AttrDefault::Float(value))) => AttrValue::Float(value),
            (None, Some(AttrDefault::Int(value))) => AttrValue::Int(value),
            (None, None) => continue,
            _ => return Err("an omitted list has a default".into()),
        };
        let tensor = operand(step, formal.name, &value)?;
        let made = step.constant(tensor)?;
        step.remove(formal.name);
        step.set_input(index, Some(made));
    }
    Ok(())
}

/// The operand for an attribute.
fn operand(step: &Step<'_>, name: Symbol, value: &AttrValue) -> Result<Tensor, Reason> {
    Ok(match value {
        AttrValue::Ints(values) => Tensor::vector(values),
        AttrValue::Floats(values) => Tensor::vector(values),
        AttrValue::Int(value) if step.new.op() == op::TOP_K => Tensor::vector(&[*value]),
        AttrValue::Int(value) => Tensor::scalar(*value),
        AttrValue::Float(value) if [attr::MIN, attr::MAX, attr::VALUE].contains(&name) => {
            float_scalar(*value, step.elem(step.operand(0)?)?)?
        }
        AttrValue::Float(value) => Tensor::scalar(*value),
        // A list without elements has no kind in some files.
        AttrValue::None => Tensor::vector::<i64>(&[]),
        _ => return Err("an attribute is of a kind that the operator does not declare".into()),
    })
}
