//! The form that a version of an operator has: which parameters are operands, and which are attributes.

use onnx_ir::{AttrValue, ValueId};
use onnx_pass::Reason;
use onnx_schema::Schema;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::effective::{latest_input, to_value};

/// An operand or attribute of a new node.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Omitted,
    Value(ValueId),
    Tensor(Tensor),
    Literal(Tensor),
}

/// The kind of an attribute that no schema declares.
fn natural_kind(tensor: &Tensor) -> onnx_schema::AttrKind {
    use onnx_schema::AttrKind;
    match (tensor.elem(), tensor.rank()) {
        (ElemType::Int64, 0) => AttrKind::Int,
        (ElemType::Int64, 1) => AttrKind::Ints,
        (ElemType::Float, 0) => AttrKind::Float,
        (ElemType::Float, 1) => AttrKind::Floats,
        (ElemType::String, 0) => AttrKind::String,
        (ElemType::String, 1) => AttrKind::Strings,
        _ => AttrKind::Tensor,
    }
}

pub(crate) fn has_attribute(schema: &Schema, name: &str) -> bool {
    schema.attributes().iter().any(|formal| formal.text() == name)
}

/// Operands and attributes of a new node.
#[derive(Debug, Default)]
pub(crate) struct Form {
    pub(crate) operands: Vec<Argument>,
    pub(crate) attributes: Vec<(String, AttrValue)>,
}

impl Form {
    /// Sets the operand that the latest version has at an index.
    pub(crate) fn place_operand(
        &mut self,
        schema: Option<&'static Schema>,
        index: usize,
        argument: &Argument,
        constant: &dyn Fn(ValueId) -> Option<Tensor>,
    ) -> Result<(), Reason> {
        let name = schema.and_then(|schema| latest_input(schema, index));
        let (Some(schema), Some(name)) = (schema, name) else {
            self.operands.push(argument.clone());
            return Ok(());
        };
        if let Some(here) = schema.inputs().iter().position(|formal| formal.name == name) {
            self.set_operand(here, argument.clone());
            return Ok(());
        }
        if has_attribute(schema, name) {
            return self.place_attribute(Some(schema), name, argument, constant);
        }
        match argument {
            Argument::Omitted => Ok(()),
            // Operands are sometimes renamed.
            _ if index < schema.inputs().len() => {
                self.set_operand(index, argument.clone());
                Ok(())
            }
            _ => Err(Reason::new(format!("`{}` has no `{name}` in this version", schema.name()))),
        }
    }

    /// Sets a parameter by name.
    pub(crate) fn place_attribute(
        &mut self,
        schema: Option<&'static Schema>,
        name: &str,
        argument: &Argument,
        constant: &dyn Fn(ValueId) -> Option<Tensor>,
    ) -> Result<(), Reason> {
        if let Some(schema) = schema
            && !has_attribute(schema, name)
        {
            let index = schema.inputs().iter().position(|formal| formal.name == name);
            let index = index
                .ok_or_else(|| Reason::new(format!("`{}` has no `{name}` in this version", schema.name())))?;
            self.set_operand(index, argument.clone());
            return Ok(());
        }
        let tensor = match argument {
            Argument::Omitted => return Ok(()),
            Argument::Tensor(tensor) | Argument::Literal(tensor) => tensor.clone(),
            Argument::Value(value) => constant(*value)
                .ok_or_else(|| Reason::new(format!("`{name}` is an attribute in this version")))?,
        };
        let kind =
            match schema.and_then(|schema| schema.attributes().iter().find(|formal| formal.text() == name)) {
                Some(formal) => formal.kind,
                None => natural_kind(&tensor),
            };
        let value =
            to_value(&tensor, kind).ok_or_else(|| Reason::new(format!("`{name}` has another kind")))?;
        self.set(name, value);
        Ok(())
    }

    fn set_operand(&mut self, index: usize, argument: Argument) {
        while self.operands.len() <= index {
            self.operands.push(Argument::Omitted);
        }
        if let Some(slot) = self.operands.get_mut(index) {
            *slot = argument;
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: AttrValue) {
        self.attributes.retain(|(other, _)| other != name);
        self.attributes.push((name.to_owned(), value));
    }
}
