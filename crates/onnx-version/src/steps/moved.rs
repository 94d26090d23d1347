//! Attributes that become operands, and operands that become attributes: constants with the same elements.

use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, AttrKind, FormalAttribute, Schema, attr, op};
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

use crate::reason::VersionReason;
use crate::step::{Step, float_scalar};

/// Makes operands of all attributes that the new version has as operands; an omitted attribute with a default becomes
/// an operand with the default.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (old, new) = (step.old, step.new);
    for formal in old.attributes() {
        if new.attributes().iter().any(|other| other.name == formal.name) {
            continue;
        }
        let Some(index) = place(new, formal) else { continue };
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

/// The index of the operand that has the meaning of an attribute.
fn place(schema: &Schema, formal: &FormalAttribute) -> Option<usize> {
    let name = match (schema.op(), formal.name) {
        (op::PAD, attr::VALUE) => "constant_value",
        (op::TOP_K, attr::K) => "K",
        _ => formal.text(),
    };
    schema.inputs().iter().position(|input| input.name == name)
}

/// Makes attributes of all operands that the older version has as attributes.
pub(crate) fn operands(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (old, new) = (step.old, step.new);
    for formal in new.attributes() {
        if old.attribute(formal.name).is_some() {
            continue;
        }
        let Some(index) = place(old, formal) else { continue };
        let Some(value) = step.input(index) else { continue };
        let what = format!("`{}`", formal.text());
        match formal.kind {
            AttrKind::Ints => {
                let values = step.ints(value, &what)?;
                step.set(formal.name, values)?;
            }
            AttrKind::Int => {
                let values = step.ints(value, &what)?;
                let &[number] = values.as_slice() else {
                    return Err(format!("{what} has not one element").into());
                };
                step.set(formal.name, number)?;
            }
            AttrKind::Floats => {
                let values = step.floats(value, &what)?;
                let values: Result<Vec<f32>, VersionReason> = values.into_iter().map(exact).collect();
                step.set(formal.name, values?)?;
            }
            AttrKind::Float => {
                let values = step.floats(value, &what)?;
                let &[number] = values.as_slice() else {
                    return Err(format!("{what} has not one element").into());
                };
                step.set(formal.name, exact(number)?)?;
            }
            _ => return Err(format!("{what} is of a kind that has no operand").into()),
        }
        step.set_input(index, None);
    }
    Ok(())
}

/// A number as the `float` of an attribute.
pub(crate) fn exact(number: f64) -> Result<f32, VersionReason> {
    let rounded = number as f32;
    match f64::from(rounded) == number || number.is_nan() {
        true => Ok(rounded),
        false => Err(format!("an attribute of type float cannot have the value {number}").into()),
    }
}

/// The operand for an attribute.
fn operand(step: &Step<'_>, name: Symbol, value: &AttrValue) -> Result<Tensor, VersionReason> {
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
