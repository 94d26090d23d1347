//! Builders: nodes in the form that the version in scope wants.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use onnx_ir::{AttrValue, Builder, EditError, NodeBuilder, NodeId, ValueId};
use onnx_schema::{Schema, attr, op};
use onnx_types::Symbol;
use onnx_types::tensor::{NoData, Tensor};
use smallvec::SmallVec;

use crate::call::{Operator, Place, Places, place_at};
use crate::param::one;

/// Maximum number of elements of a constant operand that becomes an attribute.
const MAX_ELEMENTS: usize = 4096;

/// Why a node was not made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The operator set of the domain is not imported where the node would be.
    #[error("the operator set of `{op}` is not imported")]
    NotImported {
        /// The operator.
        op: &'static str,
    },
    /// The version in scope does not have the operator.
    #[error("version {version} of the operator set does not have `{op}`")]
    NotInVersion {
        /// The operator.
        op: &'static str,
        /// The version in scope.
        version: i64,
    },
    /// The operator is deprecated in the version in scope.
    #[error("`{op}` is deprecated in version {version} of the operator set")]
    Deprecated {
        /// The operator.
        op: &'static str,
        /// The version in scope.
        version: i64,
    },
    /// The operator does not have the parameter at the version in scope.
    #[error("`{schema}` does not have the parameter `{param}`")]
    NoParameter {
        /// The operator and its version.
        schema: VersionedName,
        /// The parameter.
        param: &'static str,
    },
    /// The parameter is an attribute at the version in scope, and the value given for it is not constant.
    #[error(
        "`{schema}` takes `{param}` as an attribute, but the value given for it is not a constant in memory"
    )]
    NotConstant {
        /// The operator and its version.
        schema: VersionedName,
        /// The parameter.
        param: &'static str,
    },
    /// The node cannot be put there.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// An operator with its version, such as `Squeeze-13`.
#[derive(Clone, Copy, PartialEq)]
pub struct VersionedName(&'static str, i64);

impl fmt::Display for VersionedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

impl fmt::Debug for VersionedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The value of a parameter that is an attribute in some versions and an operand in others.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value of the model.
    Value(ValueId),
    /// An integer: an attribute, or an `int64` tensor with one element.
    Int(i64),
    /// A list of integers: an attribute, or an `int64` tensor of rank 1.
    Ints(Vec<i64>),
    /// A number: an attribute, or a `float` scalar.
    Float(f32),
    /// A list of numbers: an attribute, or a `float` tensor of rank 1.
    Floats(Vec<f32>),
    /// A constant operand. Where the version has an attribute, its elements become the attribute's value.
    Tensor(Tensor),
}

macro_rules! arg_from {
    ($($type:ty => $value:ident $make:expr;)*) => {$(
        impl From<$type> for Arg {
            fn from($value: $type) -> Self {
                $make
            }
        }
    )*};
}

arg_from! {
    ValueId => value Self::Value(value);
    i64 => value Self::Int(value);
    Vec<i64> => value Self::Ints(value);
    &[i64] => value Self::Ints(value.to_vec());
    &Vec<i64> => value Self::Ints(value.clone());
    f32 => value Self::Float(value);
    Vec<f32> => value Self::Floats(value);
    &[f32] => value Self::Floats(value.to_vec());
    Tensor => value Self::Tensor(value);
}

impl<const N: usize> From<[i64; N]> for Arg {
    fn from(value: [i64; N]) -> Self {
        Self::Ints(value.to_vec())
    }
}

/// An operand of a node in the making.
#[derive(Debug)]
enum Operand {
    Omitted,
    Value(ValueId),
    /// Becomes a `Constant` node once the node is known to be possible.
    Constant(Tensor),
}

/// A node in the making, as the typed builders use it. It records the first problem and reports it at the end.
pub(crate) struct Raw<'a, 'b> {
    build: &'b mut Builder<'a>,
    schema: Result<&'static Schema, MakeError>,
    name: String,
    operands: SmallVec<[Operand; 4]>,
    attributes: SmallVec<[(Symbol, AttrValue); 2]>,
    problem: Option<MakeError>,
}

impl<'a, 'b> Raw<'a, 'b> {
    fn new<O: Operator>(build: &'b mut Builder<'a>) -> Self {
        let version = build.version(O::DOMAIN);
        let name = onnx_schema::known_name(O::OP).unwrap_or_default();
        let schema = match version {
            None => Err(MakeError::NotImported { op: name }),
            Some(version) => match onnx_schema::lookup(O::DOMAIN, O::OP, version) {
                None => Err(MakeError::NotInVersion { op: name, version }),
                Some(schema) if schema.is_deprecated() => Err(MakeError::Deprecated { op: name, version }),
                Some(schema) => Ok(schema),
            },
        };
        Self {
            build,
            schema,
            name: String::new(),
            operands: SmallVec::new(),
            attributes: SmallVec::new(),
            problem: None,
        }
    }

    fn set_operand(&mut self, index: usize, operand: Operand) {
        while self.operands.len() <= index {
            self.operands.push(Operand::Omitted);
        }
        if let Some(slot) = self.operands.get_mut(index) {
            *slot = operand;
        }
    }

    /// Sets the operand at an index.
    pub(crate) fn input(&mut self, index: usize, value: Option<ValueId>) {
        self.set_operand(index, value.map_or(Operand::Omitted, Operand::Value));
    }

    /// Sets the operands of a variadic formal input that begins at an index.
    pub(crate) fn inputs_from(&mut self, index: usize, values: impl IntoIterator<Item = ValueId>) {
        for (offset, value) in values.into_iter().enumerate() {
            self.set_operand(index + offset, Operand::Value(value));
        }
    }

    /// Sets an attribute.
    pub(crate) fn attribute(&mut self, param: &'static str, name: Symbol, value: AttrValue) {
        let Ok(schema) = self.schema else { return };
        if schema.attribute(name).is_none() {
            return self.fail(MakeError::NoParameter { schema: name_of(schema), param });
        }
        self.attributes.retain(|(other, _)| *other != name);
        self.attributes.push((name, value));
    }

    /// Sets a parameter where the version in scope has it.
    pub(crate) fn param(&mut self, param: &'static str, places: Places, value: Arg) {
        let Ok(schema) = self.schema else { return };
        match place_at(places, schema.since_version()) {
            Place::None => self.fail(MakeError::NoParameter { schema: name_of(schema), param }),
            Place::Input(index) => {
                let operand = match value {
                    Arg::Value(value) => Operand::Value(value),
                    Arg::Int(value) => Operand::Constant(Tensor::vector(&[value])),
                    Arg::Ints(values) => Operand::Constant(Tensor::vector(&values)),
                    Arg::Float(value) => Operand::Constant(Tensor::scalar(value)),
                    Arg::Floats(values) => Operand::Constant(Tensor::vector(&values)),
                    Arg::Tensor(tensor) => Operand::Constant(tensor),
                };
                self.set_operand(usize::from(index), operand);
            }
            Place::Attr(name) => match self.attribute_value(schema, name, value) {
                Some(value) => self.attribute(param, name, value),
                None => self.fail(MakeError::NotConstant { schema: name_of(schema), param }),
            },
        }
    }

    /// The value of an attribute for an argument; a constant is converted to the attribute's kind.
    fn attribute_value(&mut self, schema: &Schema, name: Symbol, value: Arg) -> Option<AttrValue> {
        use onnx_schema::AttrKind;
        let kind = schema.attribute(name)?.kind;
        let model = self.build.model();
        let tensor = match value {
            Arg::Int(value) if kind == AttrKind::Ints => return Some(AttrValue::Ints(vec![value])),
            Arg::Int(value) => return Some(AttrValue::Int(value)),
            Arg::Ints(values) => return Some(AttrValue::Ints(values)),
            Arg::Float(value) => return Some(AttrValue::Float(value)),
            Arg::Floats(values) => return Some(AttrValue::Floats(values)),
            Arg::Tensor(tensor) => tensor,
            Arg::Value(value) => model.constant_tensor(value)?.clone(),
        };
        let ints = || tensor.get_i64s(&NoData, MAX_ELEMENTS).ok();
        let is_small = tensor.element_count().is_some_and(|count| count <= MAX_ELEMENTS as u64);
        let floats = || is_small.then(|| tensor.to_vec::<f32>(&NoData).ok()).flatten();
        Some(match kind {
            AttrKind::Ints => AttrValue::Ints(ints()?),
            AttrKind::Int => AttrValue::Int(one(&ints()?)?),
            AttrKind::Floats => AttrValue::Floats(floats()?),
            AttrKind::Float => AttrValue::Float(one(&floats()?)?),
            _ => return None,
        })
    }

    fn fail(&mut self, problem: MakeError) {
        self.problem.get_or_insert(problem);
    }

    /// Makes the node through `finish`, which adds its outputs.
    fn make<T>(
        self,
        finish: impl FnOnce(NodeBuilder<'_, '_>) -> Result<T, EditError>,
    ) -> Result<T, MakeError> {
        let schema = self.schema?;
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let build = self.build;
        let mut inputs: SmallVec<[Option<ValueId>; 4]> = SmallVec::new();
        let mut constants: SmallVec<[NodeId; 2]> = SmallVec::new();
        let result = (|| {
            for operand in self.operands {
                inputs.push(match operand {
                    Operand::Omitted => None,
                    Operand::Value(value) => Some(value),
                    Operand::Constant(tensor) => {
                        let value = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output()?;
                        constants.extend(build.model().value(value).producer());
                        Some(value)
                    }
                });
            }
            let mut node = build.call_symbol(schema.domain(), schema.op()).name(&self.name);
            for input in &inputs {
                node = node.input(*input);
            }
            for (name, value) in self.attributes {
                node = node.attr(name, value);
            }
            finish(node)
        })();
        if result.is_err() {
            for constant in constants {
                // Nothing uses the constants of a node that was not made.
                let _ = build.model().erase_node(constant);
            }
        }
        Ok(result?)
    }
}

fn name_of(schema: &'static Schema) -> VersionedName {
    VersionedName(schema.name(), schema.since_version())
}

/// A node in the making that calls the operator `O`; the functions of [`ops`](crate::ops) return it.
///
/// Parameters that are an operand at the version in scope become one: a literal as a `Constant` node. What the version
/// cannot express is an error of the method that makes the node.
#[must_use = "the node is made by `output`, `outputs` or `node`"]
pub struct Make<'a, 'b, O> {
    pub(crate) raw: Raw<'a, 'b>,
    operator: PhantomData<fn() -> O>,
}

impl<'a, 'b, O: Operator> Make<'a, 'b, O> {
    pub(crate) fn new(build: &'b mut Builder<'a>) -> Self {
        Self { raw: Raw::new::<O>(build), operator: PhantomData }
    }

    /// Sets the name of the node.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.raw.name);
        self
    }

    /// Sets an attribute to a reference to an attribute of the enclosing function.
    pub fn from_call(mut self, attribute: Symbol, target: Symbol) -> Self {
        self.raw.attribute("attribute", attribute, AttrValue::Ref(target));
        self
    }

    /// Makes the node with one output, which gets a name when the model is written.
    ///
    /// # Errors
    ///
    /// Returns an error if the version in scope cannot express the node, or the node cannot be put there. The model is
    /// unchanged then.
    pub fn output(self) -> Result<ValueId, MakeError> {
        let [value] = self.outputs()?;
        Ok(value)
    }

    /// Makes the node with several outputs.
    ///
    /// # Errors
    ///
    /// See [`Make::output`].
    pub fn outputs<const N: usize>(self) -> Result<[ValueId; N], MakeError> {
        self.raw.make(|node| node.outputs())
    }

    /// Makes the node with a number of outputs that is known at run time, of which those that are `false` are omitted.
    ///
    /// # Errors
    ///
    /// See [`Make::output`].
    pub fn outputs_if(self, present: &[bool]) -> Result<Vec<Option<ValueId>>, MakeError> {
        self.raw.make(|node| node.outputs_if(present))
    }

    /// Makes the node without outputs.
    ///
    /// # Errors
    ///
    /// See [`Make::output`].
    pub fn node(self) -> Result<NodeId, MakeError> {
        self.raw.make(|node| node.node())
    }
}

/// The value of an attribute that is a list of strings.
pub(crate) fn strings(texts: &[&str]) -> AttrValue {
    AttrValue::Strings(texts.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect())
}
