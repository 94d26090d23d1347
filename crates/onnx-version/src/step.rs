//! One step of one node, as the functions of [`steps`](crate::steps) see it.

use onnx_ir::{AttrValue, Attribute, Builder, EditError, Model, NodeId, Position, ValueId};
use onnx_schema::{AttrDefault, Schema, attr, op};
use onnx_shape_infer::Inference;
use onnx_types::tensor::{Tensor, bf16, f16};
use onnx_types::{Dim, ElemType, Symbol};
use slotmap::SecondaryMap;

/// The reason why a node cannot be converted: a clause.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Reason(String);

impl Reason {
    /// A reason, as a clause.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<&str> for Reason {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<EditError> for Reason {
    fn from(error: EditError) -> Self {
        Self(error.to_string())
    }
}

/// The types of values: those of inference before the conversion, and of the values that steps make.
pub(crate) struct Types {
    pub(crate) inference: Inference,
    /// Values that took the place of others, with these.
    pub(crate) stand_for: SecondaryMap<ValueId, ValueId>,
    /// Values whose element type a step sets.
    pub(crate) elems: SecondaryMap<ValueId, ElemType>,
}

impl Types {
    fn original(&self, value: ValueId) -> ValueId {
        self.stand_for.get(value).copied().unwrap_or(value)
    }
}

/// A node on its way to the version of a schema.
pub(crate) struct Step<'a> {
    pub(crate) model: &'a mut Model,
    pub(crate) types: &'a mut Types,
    pub(crate) node: NodeId,
    pub(crate) old: &'static Schema,
    pub(crate) new: &'static Schema,
    /// Nodes that the step makes, which have the version of the new schema.
    pub(crate) made: Vec<NodeId>,
}

impl Step<'_> {
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.model.node(self.node).attribute(name).is_some()
    }

    fn value(&self, name: Symbol) -> Result<Option<&AttrValue>, Reason> {
        let Some(attribute) = self.model.node(self.node).attribute(name) else { return Ok(None) };
        match attribute.value() {
            AttrValue::Ref(_) => Err(Reason::new(format!(
                "`{}` refers to an attribute of the function; inline the function first",
                self.model.str(name)
            ))),
            value => Ok(Some(value)),
        }
    }

    fn wrong(&self, name: Symbol) -> Reason {
        Reason::new(format!("`{}` is not of the kind that the operator declares", self.model.str(name)))
    }

    /// An integer, or its default in the old version.
    pub(crate) fn int(&self, name: Symbol) -> Result<Option<i64>, Reason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::Int(value)), _) => Ok(Some(*value)),
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::Int(value))) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// A number, or its default in the old version.
    pub(crate) fn float(&self, name: Symbol) -> Result<Option<f32>, Reason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::Float(value)), _) => Ok(Some(*value)),
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::Float(value))) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// A text, or its default in the old version.
    pub(crate) fn text(&self, name: Symbol) -> Result<Option<String>, Reason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::String(text)), _) => {
                let text = std::str::from_utf8(text).map_err(|_| self.wrong(name))?;
                Ok(Some(text.to_owned()))
            }
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::String(text))) => Ok(Some(text.to_owned())),
            _ => Ok(None),
        }
    }

    /// An attribute as it is given.
    pub(crate) fn given(&self, name: Symbol) -> Result<Option<AttrValue>, Reason> {
        Ok(self.value(name)?.cloned())
    }

    pub(crate) fn set(&mut self, name: Symbol, value: impl Into<AttrValue>) -> Result<(), Reason> {
        Ok(self.model.set_attribute(self.node, Attribute::new(name, value))?)
    }

    pub(crate) fn remove(&mut self, name: Symbol) {
        self.model.remove_attribute(self.node, name);
    }

    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.model.node(self.node).input(index)
    }

    /// An operand that the operator requires.
    pub(crate) fn operand(&self, index: usize) -> Result<ValueId, Reason> {
        self.input(index).ok_or_else(|| Reason::new(format!("input {index} is omitted")))
    }

    /// An output that something uses.
    pub(crate) fn used_output(&self, index: usize) -> Option<ValueId> {
        let output = self.model.node(self.node).outputs().get(index).copied().flatten()?;
        (self.model.consumers(output).next().is_some() || self.model.is_graph_output(output))
            .then_some(output)
    }

    pub(crate) fn output_count(&self) -> usize {
        self.model.node(self.node).outputs().len()
    }

    pub(crate) fn set_input(&mut self, index: usize, value: Option<ValueId>) {
        while self.model.node(self.node).input_count() < index {
            self.model.push_input(self.node, None);
        }
        self.model.set_input(self.node, index, value);
    }

    /// The element type of a value.
    pub(crate) fn elem(&self, value: ValueId) -> Result<ElemType, Reason> {
        let known = self.types.elems.get(value).copied();
        let elem = known.or_else(|| self.types.inference.elem(self.types.original(value)));
        elem.ok_or_else(|| {
            Reason::new(format!(
                "the element type of `{}` is unknown",
                self.model.str(self.model.value(value).name())
            ))
        })
    }

    /// The sizes of a value of known rank, each if it is a number.
    pub(crate) fn sizes(&self, value: ValueId) -> Option<Vec<Option<i64>>> {
        let dims = self.types.inference.shape(self.types.original(value))?;
        Some(dims.iter().map(|dim: &Dim| dim.known()).collect())
    }

    /// The rank of a value.
    pub(crate) fn rank(&self, value: ValueId) -> Result<i64, Reason> {
        let dims = self.types.inference.shape(self.types.original(value));
        let rank = dims.and_then(|dims| i64::try_from(dims.len()).ok());
        rank.ok_or_else(|| {
            Reason::new(format!(
                "the rank of `{}` is unknown",
                self.model.str(self.model.value(value).name())
            ))
        })
    }

    /// The elements of a constant that no caller of the model can replace.
    pub(crate) fn constant_of(&self, value: ValueId) -> Option<Tensor> {
        let record = self.model.value(value);
        if let Some(node) = record.producer() {
            return self.model.node(node).constant_tensor();
        }
        let is_input = matches!(record.def(), onnx_ir::Def::Input { .. });
        self.model.constant_tensor(value).filter(|_| !is_input).cloned()
    }

    fn build_at(&mut self, at: Position) -> Builder<'_> {
        let (domain, version, node) = (self.new.domain(), self.new.since_version(), self.node);
        self.model.build_at(at).with_version(domain, version).derive("convert", &[node])
    }

    fn record(&mut self, made: ValueId) -> ValueId {
        self.made.extend(self.model.value(made).producer());
        made
    }

    /// A constant before the node.
    pub(crate) fn constant(&mut self, tensor: Tensor) -> Result<ValueId, Reason> {
        let elem = tensor.elem();
        let made = self.build_at(Position::Before(self.node)).constant(tensor)?;
        self.types.elems.insert(made, elem);
        Ok(self.record(made))
    }

    /// A node with one output before the node of the step.
    pub(crate) fn before(
        &mut self,
        op: Symbol,
        inputs: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<ValueId, Reason> {
        self.insert(Position::Before(self.node), op, inputs, attributes)
    }

    fn insert(
        &mut self,
        at: Position,
        op: Symbol,
        inputs: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<ValueId, Reason> {
        let mut build = self.build_at(at);
        let mut node = build.op(op, inputs.iter().copied());
        for (name, value) in attributes {
            node = node.attr(*name, value.clone());
        }
        let made = node.output()?;
        Ok(self.record(made))
    }

    /// A value of another element type before the node.
    pub(crate) fn cast(&mut self, value: ValueId, to: ElemType) -> Result<ValueId, Reason> {
        let made = self.before(op::CAST, &[value], &[(attr::TO, AttrValue::Int(to.code().into()))])?;
        self.types.elems.insert(made, to);
        Ok(made)
    }

    /// Lets a node that reads an output of the node take the place of the output, whose element type is `elem` from now on.
    pub(crate) fn wrap_output(
        &mut self,
        output: ValueId,
        elem: Option<ElemType>,
        op: Symbol,
        more: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<(), Reason> {
        let mut inputs = vec![output];
        inputs.extend(more);
        let made = self.insert(Position::After(self.node), op, &inputs, attributes)?;
        let original = self.types.original(output);
        let ty = self.model.ty(output).cloned();
        self.model.replace_value(output, made);
        if let Some(node) = self.model.value(made).producer() {
            self.model.set_input(node, 0, Some(output));
        }
        self.model.set_type(made, ty);
        self.model.set_type(output, None::<onnx_types::Type>);
        self.types.stand_for.insert(made, original);
        if let Some(elem) = elem {
            self.types.elems.insert(output, elem);
        }
        Ok(())
    }

    /// Calls another operator.
    pub(crate) fn rename(&mut self, op: Symbol) {
        let record = self.model.node(self.node);
        let (domain, overload) = (record.written_domain(), record.overload());
        self.model.set_op(self.node, domain, op, overload);
    }
}

/// A number of an element type of floats, rounded to the nearest.
pub(crate) fn float_scalar(number: f32, elem: ElemType) -> Result<Tensor, Reason> {
    Ok(match elem {
        ElemType::Float => Tensor::scalar(number),
        ElemType::Double => Tensor::scalar(f64::from(number)),
        ElemType::Float16 => Tensor::scalar(f16::from_f32(number)),
        ElemType::Bfloat16 => Tensor::scalar(bf16::from_f32(number)),
        _ => {
            return Err(Reason::new(format!(
                "a number of type {} cannot be made from an attribute",
                elem.name()
            )));
        }
    })
}
