//! Operands and attributes against the signature: kernels see only types and words that the operator takes.

use onnx_ir::AttrValue;
use onnx_schema::{FormalType, Schema, SchemaRef};
use onnx_types::{ElemType, Type};

use crate::cx::{Cx, Outcome, Stop};
use crate::value::Value;

/// Checks the number of operands, and that the tensors among them have element types that the schema allows, equal for
/// inputs that share a type variable.
pub(crate) fn check(schema: &Schema, inputs: &[Option<Value>]) -> Outcome {
    if inputs.len() < schema.min_inputs() || schema.max_inputs().is_some_and(|max| inputs.len() > max) {
        return Err(Stop::failed(format_args!("the operator does not take {} inputs", inputs.len())));
    }
    let mut bound: [Option<ElemType>; 8] = [None; 8];
    for (index, value) in inputs.iter().enumerate() {
        let Some(formal) = schema.input_for(index) else { break };
        let Some(value) = value else {
            if formal.is_optional() || formal.is_variadic() {
                continue;
            }
            return Err(Stop::failed(format_args!("input {index} (`{}`) is missing", formal.name)));
        };
        let Value::Tensor(tensor) = value else { continue };
        let elem = tensor.elem();
        if !schema.types_of(formal).contains_tensor(elem) && !allows_in_optional(schema, index, elem) {
            let name = formal.name;
            return Err(Stop::failed(format_args!(
                "input {index} (`{name}`) must not be a tensor of {elem}"
            )));
        }
        let FormalType::Variable(variable) = formal.ty else { continue };
        if !formal.is_homogeneous {
            continue;
        }
        let Some(slot) = bound.get_mut(usize::from(variable)) else { continue };
        match *slot {
            Some(other) if other != elem => {
                let name = formal.name;
                let message = format_args!(
                    "input {index} (`{name}`) is a tensor of {elem}, another input one of {other}"
                );
                return Err(Stop::failed(message));
            }
            _ => *slot = Some(elem),
        }
    }
    Ok(())
}

/// Checks that string attributes are among the words that the operator defines, also where a kernel does not read them: a
/// `mode` of a `Pad` that pads nothing.
pub(crate) fn check_strings(cx: &Cx<'_, '_>) -> Outcome {
    let Some(SchemaRef::Standard(schema)) = cx.schema else { return Ok(()) };
    for attribute in cx.node.attributes() {
        let name = attribute.name();
        let Some(choices) = schema.choices(name) else { continue };
        let strings = match cx.attribute(name).map(onnx_ir::Attribute::value) {
            Some(AttrValue::String(string)) => std::slice::from_ref(string),
            Some(AttrValue::Strings(strings)) => strings,
            _ => continue,
        };
        if let Some(string) = strings.iter().find(|string| !schema.allows_string(name, string)) {
            let string = String::from_utf8_lossy(string);
            let (name, choices) = (cx.model.str(name), choices.join("`, `"));
            let string = onnx_diag::Quoted(&string);
            return Err(Stop::failed(format_args!("attribute `{name}` is {string}, not one of `{choices}`")));
        }
    }
    Ok(())
}

/// A tensor may be passed for an optional tensor.
fn allows_in_optional(schema: &Schema, index: usize, elem: ElemType) -> bool {
    let ty = Type::optional(Type::tensor(elem, None));
    schema.input_for(index).is_some_and(|formal| schema.types_of(formal).contains_type(&ty))
}
