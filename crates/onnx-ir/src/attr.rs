//! Attributes of nodes, and attribute defaults of functions.

use std::sync::Arc;

use bytes::Bytes;
use onnx_schema::AttrKind;
use onnx_types::tensor::Tensor;
use onnx_types::{FieldForms, Symbol, Type, UnknownFields};

use crate::constant::SparseTensor;
use crate::entity::{GraphId, ValueId};

/// The value of an attribute.
///
/// Nested graphs live in the model's arena; the attribute holds their keys and owns them.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue {
    /// The file names the attribute and optionally its kind, but contains no value.
    None,
    /// A reference to an attribute of the enclosing function (`ref_attr_name`).
    Ref(Symbol),
    /// One binary32.
    Float(f32),
    /// One 64-bit integer.
    Int(i64),
    /// One byte string, UTF-8 by convention.
    String(Bytes),
    /// The name of a value, in place of a string: the attribute `y` of `Gradient`. It is a use of the value, and written as a string.
    Value(ValueId),
    /// One tensor.
    Tensor(Arc<Tensor>),
    /// One nested graph.
    Graph(GraphId),
    /// A list of binary32.
    Floats(Vec<f32>),
    /// A list of 64-bit integers.
    Ints(Vec<i64>),
    /// A list of byte strings.
    Strings(Vec<Bytes>),
    /// The names of values, in place of strings: the attributes `xs` and `zs` of `Gradient`. Each is a use of its value.
    Values(Vec<ValueId>),
    /// A list of tensors.
    Tensors(Vec<Arc<Tensor>>),
    /// A list of nested graphs.
    Graphs(Vec<GraphId>),
    /// One sparse tensor.
    SparseTensor(Arc<SparseTensor>),
    /// A list of sparse tensors.
    SparseTensors(Vec<Arc<SparseTensor>>),
    /// One type.
    Type(Arc<Type>),
    /// A list of types.
    Types(Vec<Type>),
}

impl AttrValue {
    /// The kind of the value; `None` for a reference and for no value, which have the kind that the attribute declares.
    #[must_use]
    pub const fn kind(&self) -> Option<AttrKind> {
        Some(match self {
            Self::None | Self::Ref(_) => return None,
            Self::Float(_) => AttrKind::Float,
            Self::Int(_) => AttrKind::Int,
            Self::String(_) | Self::Value(_) => AttrKind::String,
            Self::Tensor(_) => AttrKind::Tensor,
            Self::Graph(_) => AttrKind::Graph,
            Self::Floats(_) => AttrKind::Floats,
            Self::Ints(_) => AttrKind::Ints,
            Self::Strings(_) | Self::Values(_) => AttrKind::Strings,
            Self::Tensors(_) => AttrKind::Tensors,
            Self::Graphs(_) => AttrKind::Graphs,
            Self::SparseTensor(_) => AttrKind::SparseTensor,
            Self::SparseTensors(_) => AttrKind::SparseTensors,
            Self::Type(_) => AttrKind::TypeProto,
            Self::Types(_) => AttrKind::TypeProtos,
        })
    }

    /// The value as a tensor: numbers and texts have rank 0, lists rank 1. `None` for graphs, types, sparse tensors, lists of
    /// tensors, references, and texts that are not UTF-8.
    #[must_use]
    pub fn to_tensor(&self) -> Option<Tensor> {
        let texts = |texts: &[Bytes]| -> Option<Vec<String>> {
            texts.iter().map(|text| std::str::from_utf8(text).ok().map(str::to_owned)).collect()
        };
        Some(match self {
            Self::Int(value) => Tensor::scalar(*value),
            Self::Ints(values) => Tensor::vector(values),
            Self::Float(value) => Tensor::scalar(*value),
            Self::Floats(values) => Tensor::vector(values),
            Self::String(text) => Tensor::from_strings([], texts(std::slice::from_ref(text))?).ok()?,
            Self::Strings(values) => {
                Tensor::from_strings([i64::try_from(values.len()).ok()?], texts(values)?).ok()?
            }
            Self::Tensor(tensor) => Tensor::clone(tensor),
            _ => return None,
        })
    }

    /// The values that it names.
    #[must_use]
    pub fn values(&self) -> &[ValueId] {
        match self {
            Self::Value(value) => std::slice::from_ref(value),
            Self::Values(values) => values,
            _ => &[],
        }
    }

    /// The values of the names that it has as strings; `None` if it has none, or one is not the name of a value.
    pub(crate) fn resolved_by(&self, mut find: impl FnMut(&Bytes) -> Option<ValueId>) -> Option<Self> {
        match self {
            Self::String(name) => find(name).map(Self::Value),
            Self::Strings(names) if !names.is_empty() => {
                names.iter().map(find).collect::<Option<_>>().map(Self::Values)
            }
            _ => None,
        }
    }

    pub(crate) fn values_mut(&mut self) -> &mut [ValueId] {
        match self {
            Self::Value(value) => std::slice::from_mut(value),
            Self::Values(values) => values,
            _ => &mut [],
        }
    }

    /// The nested graphs that the value owns.
    #[must_use]
    pub fn graphs(&self) -> &[GraphId] {
        match self {
            Self::Graph(graph) => std::slice::from_ref(graph),
            Self::Graphs(graphs) => graphs,
            _ => &[],
        }
    }
}

macro_rules! value_from {
    ($($variant:ident($type:ty)),* $(,)?) => {$(
        impl From<$type> for AttrValue {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

value_from!(
    Float(f32),
    Int(i64),
    String(Bytes),
    Tensor(Arc<Tensor>),
    Graph(GraphId),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Bytes>),
    Tensors(Vec<Arc<Tensor>>),
    Graphs(Vec<GraphId>),
    SparseTensor(Arc<SparseTensor>),
    Type(Arc<Type>),
    Types(Vec<Type>),
);

impl From<Tensor> for AttrValue {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(Arc::new(tensor))
    }
}

impl From<&[i64]> for AttrValue {
    fn from(values: &[i64]) -> Self {
        Self::Ints(values.to_vec())
    }
}

impl<const N: usize> From<[i64; N]> for AttrValue {
    fn from(values: [i64; N]) -> Self {
        Self::Ints(values.to_vec())
    }
}

impl From<&str> for AttrValue {
    fn from(text: &str) -> Self {
        Self::String(Bytes::copy_from_slice(text.as_bytes()))
    }
}

/// A named attribute of a node, or an attribute default of a function (message `AttributeProto`).
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    name: Symbol,
    value: AttrValue,
    /// The number in the field `type`; `None` where the file leaves the field out.
    declared: Option<i32>,
    forms: FieldForms,
    extra: Option<Box<AttrExtra>>,
}

/// The rare parts of an attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AttrExtra {
    /// `doc_string`.
    pub doc: Symbol,
    /// Fields that this version of the format does not know, and value fields beyond the one that an attribute can hold.
    pub unknown: UnknownFields,
}

impl AttrExtra {
    /// Documentation and unknown fields of an attribute; `None` if there are none.
    #[must_use]
    pub fn boxed(doc: Symbol, unknown: UnknownFields) -> Option<Box<Self>> {
        let extra = Self { doc, unknown };
        (extra != Self::default()).then(|| Box::new(extra))
    }
}

impl Attribute {
    /// The attribute `name = value`, which declares the kind of its value.
    #[must_use]
    pub fn new(name: Symbol, value: impl Into<AttrValue>) -> Self {
        let value = value.into();
        let declared = value.kind().map(AttrKind::code);
        Self { name, value, declared, forms: FieldForms::CANONICAL, extra: None }
    }

    /// An attribute of a function body's node that takes the value of the function's attribute `target`.
    #[must_use]
    pub const fn reference(name: Symbol, target: Symbol, kind: AttrKind) -> Self {
        Self {
            name,
            value: AttrValue::Ref(target),
            declared: Some(kind.code()),
            forms: FieldForms::CANONICAL,
            extra: None,
        }
    }

    /// What takes the place of this reference where a call passes `actual`: a value without a kind, such as a reference to an
    /// attribute of the function around the call, has the kind that this one declares.
    pub(crate) fn resolved(&self, name: Symbol, actual: AttrValue) -> Self {
        let mut resolved = Self::new(name, actual);
        resolved.declared = resolved.declared.or(self.declared);
        resolved
    }

    /// An attribute as a file wrote it, for decoders: `declared` is the number in the field `type`.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_parts(
        name: Symbol,
        value: AttrValue,
        declared: Option<i32>,
        forms: FieldForms,
        extra: Option<Box<AttrExtra>>,
    ) -> Self {
        Self { name, value, declared, forms, extra }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> Symbol {
        self.name
    }

    /// The value.
    #[must_use]
    pub const fn value(&self) -> &AttrValue {
        &self.value
    }

    /// The value, for nodes and functions that have taken charge of ownership changes.
    pub(crate) const fn value_mut(&mut self) -> &mut AttrValue {
        &mut self.value
    }

    /// The kind: that of the value, or the declared one for a reference and for no value.
    #[must_use]
    pub fn kind(&self) -> AttrKind {
        let declared = || self.declared.and_then(AttrKind::from_code).unwrap_or(AttrKind::Undefined);
        self.value.kind().unwrap_or_else(declared)
    }

    /// The number in the field `type`; `None` where the file leaves the field out. It may contradict the value.
    #[must_use]
    pub const fn declared_kind(&self) -> Option<i32> {
        self.declared
    }

    /// The explicitly encoded defaults, and whether `floats` or `ints` are packed.
    #[must_use]
    pub const fn forms(&self) -> FieldForms {
        self.forms
    }

    /// The documentation; empty where there is none.
    #[must_use]
    pub fn doc(&self) -> Symbol {
        self.extra.as_ref().map_or(Symbol::EMPTY, |extra| extra.doc)
    }

    /// Changes the documentation.
    pub fn set_doc(&mut self, doc: Symbol) {
        if self.extra.is_some() || !doc.is_empty() {
            self.extra.get_or_insert_default().doc = doc;
        }
    }

    /// Unknown fields, and value fields beyond the first.
    #[must_use]
    pub fn unknown(&self) -> &[onnx_types::UnknownField] {
        self.extra.as_ref().map_or(&[], |extra| &extra.unknown)
    }

    /// The integer, if that is what the attribute holds.
    #[must_use]
    pub const fn as_int(&self) -> Option<i64> {
        match self.value {
            AttrValue::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The float, if that is what the attribute holds.
    #[must_use]
    pub const fn as_float(&self) -> Option<f32> {
        match self.value {
            AttrValue::Float(value) => Some(value),
            _ => None,
        }
    }

    /// The integers, if those are what the attribute holds.
    #[must_use]
    pub fn as_ints(&self) -> Option<&[i64]> {
        match &self.value {
            AttrValue::Ints(values) => Some(values),
            _ => None,
        }
    }

    /// The floats, if those are what the attribute holds.
    #[must_use]
    pub fn as_floats(&self) -> Option<&[f32]> {
        match &self.value {
            AttrValue::Floats(values) => Some(values),
            _ => None,
        }
    }

    /// The text, if the attribute holds a string of valid UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            AttrValue::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The tensor, if that is what the attribute holds.
    #[must_use]
    pub const fn as_tensor(&self) -> Option<&Arc<Tensor>> {
        match &self.value {
            AttrValue::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The nested graph, if that is what the attribute holds.
    #[must_use]
    pub const fn as_graph(&self) -> Option<GraphId> {
        match self.value {
            AttrValue::Graph(graph) => Some(graph),
            _ => None,
        }
    }
}
