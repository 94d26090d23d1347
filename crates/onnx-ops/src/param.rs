//! Parameters: attributes, and the operands that later versions of an operator take in place of an attribute.

use std::borrow::Cow;

use onnx_ir::{AttrValue, Attribute, GraphId, SparseTensor, ValueId};
use onnx_schema::{AttrDefault, AttrKind, DeclaredDefault};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Symbol, Type};

/// Maximum number of elements that are read from a constant operand.
const MAX_ELEMENTS: usize = 4096;

/// The state of a parameter of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Param<T> {
    /// The node gives the value, as an attribute or as a constant operand.
    Given(T),
    /// The node does not give it, and the version in scope has this default.
    Default(T),
    /// Neither the node nor a default sets it: absence has a separate meaning, such as "all axes". See
    /// [`derived_default`](crate::derived_default).
    Absent,
    /// The attribute refers to this attribute of the enclosing function, so each call of the function decides.
    FromCall(Symbol),
    /// The value is computed at run time, or is a constant whose data is not in memory.
    Computed(ValueId),
    /// The version in scope does not declare the parameter. Its meaning is that of the older version, which is usually
    /// but not always the later default.
    Undeclared,
    /// The node gives an attribute of another kind than the version in scope declares.
    WrongKind(AttrKind),
}

impl<T> Param<T> {
    /// The value, if the node gives it or the version in scope has a default.
    ///
    /// References, computed values and attributes of a wrong kind have no known value, so code that ends at `None` is
    /// correct for all of them.
    #[must_use]
    pub fn known(self) -> Option<T> {
        match self {
            Self::Given(value) | Self::Default(value) => Some(value),
            _ => None,
        }
    }

    /// Like [`Param::known`], with a value for [`Param::Absent`] only.
    #[must_use]
    pub fn or(self, if_absent: T) -> Option<T> {
        match self {
            Self::Absent => Some(if_absent),
            other => other.known(),
        }
    }

    /// Like [`Param::known`], with a value for [`Param::Absent`] and [`Param::Undeclared`]: for attributes that a later
    /// version adds, whose default is what older versions do.
    ///
    /// This is true for most attributes, but not for all: whether `BatchNormalization` trains is the attribute
    /// `training_mode` since version 14, and follows from `is_test` or the number of outputs before.
    #[must_use]
    pub fn or_default(self, if_omitted: T) -> Option<T> {
        match self {
            Self::Absent | Self::Undeclared => Some(if_omitted),
            other => other.known(),
        }
    }

    /// The value that the node gives; `None` for defaults.
    #[must_use]
    pub fn given(self) -> Option<T> {
        match self {
            Self::Given(value) => Some(value),
            _ => None,
        }
    }

    /// Returns `true` if the node does not give the parameter.
    #[must_use]
    pub const fn is_omitted(&self) -> bool {
        matches!(self, Self::Default(_) | Self::Absent | Self::Undeclared)
    }

    /// Applies a function to the value.
    pub fn map<U>(self, apply: impl FnOnce(T) -> U) -> Param<U> {
        match self {
            Self::Given(value) => Param::Given(apply(value)),
            Self::Default(value) => Param::Default(apply(value)),
            Self::Absent => Param::Absent,
            Self::FromCall(symbol) => Param::FromCall(symbol),
            Self::Computed(value) => Param::Computed(value),
            Self::Undeclared => Param::Undeclared,
            Self::WrongKind(kind) => Param::WrongKind(kind),
        }
    }
}

/// The strings of an attribute or of its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texts<'m> {
    /// Strings of a node, UTF-8 by convention.
    Given(&'m [bytes::Bytes]),
    /// Strings of a default.
    Default(&'static [&'static str]),
    /// Strings of the default of a declared operator.
    Declared(&'m [String]),
}

impl<'m> Texts<'m> {
    /// Number of strings.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Given(strings) => strings.len(),
            Self::Default(strings) => strings.len(),
            Self::Declared(strings) => strings.len(),
        }
    }

    /// Returns `true` if the list of strings is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A string by its index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'m [u8]> {
        match self {
            Self::Given(strings) => strings.get(index).map(AsRef::as_ref),
            Self::Default(strings) => strings.get(index).map(|text| text.as_bytes()),
            Self::Declared(strings) => strings.get(index).map(String::as_bytes),
        }
    }

    /// The strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'m [u8]> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// The kinds of parameters: how a value is read from an attribute, a default or a constant operand.
pub mod kind {
    /// A binary32 number.
    #[derive(Debug)]
    pub enum Float {}
    /// A 64-bit integer.
    #[derive(Debug)]
    pub enum Int {}
    /// A string: bytes, UTF-8 by convention.
    #[derive(Debug)]
    pub enum Text {}
    /// A list of binary32 numbers.
    #[derive(Debug)]
    pub enum Floats {}
    /// A list of 64-bit integers.
    #[derive(Debug)]
    pub enum Ints {}
    /// A list of strings.
    #[derive(Debug)]
    pub enum Texts {}
    /// A tensor.
    #[derive(Debug)]
    pub enum Tensor {}
    /// A sparse tensor.
    #[derive(Debug)]
    pub enum Sparse {}
    /// A nested graph.
    #[derive(Debug)]
    pub enum Graph {}
    /// A type.
    #[derive(Debug)]
    pub enum Type {}
}

/// A kind of parameter; implemented by the types in [`kind`].
pub trait Kind {
    /// The value.
    type Value<'m>;

    /// The kind of the attribute.
    const KIND: AttrKind;

    /// The value of an attribute of this kind.
    fn of_value(value: &AttrValue) -> Option<Self::Value<'_>>;

    /// The value of a default of this kind.
    #[must_use]
    fn of_default<'m>(_default: AttrDefault) -> Option<Self::Value<'m>> {
        None
    }

    /// The value of a default of this kind that a declared operator has.
    #[must_use]
    fn of_declared(_default: &DeclaredDefault) -> Option<Self::Value<'_>> {
        None
    }

    /// The value of an attribute that names its kind and leaves its value out, as writers may for zeros and empty lists.
    #[must_use]
    fn of_nothing<'m>() -> Option<Self::Value<'m>> {
        None
    }

    /// The value of a constant operand, if it is represented exactly.
    #[must_use]
    fn of_tensor(_tensor: &Tensor) -> Option<Self::Value<'_>> {
        None
    }
}

macro_rules! kinds {
    ($($name:ident($kind:ident) = $value:ty, $variant:ident($bound:ident) => $read:expr
        $(, default $default:ident($it:ident) => $of_default:expr, declared => $of_declared:expr)?
        $(, nothing => $nothing:expr)?
        $(, tensor($tensor:ident) => $of_tensor:expr)?;)*) => {$(
        impl Kind for kind::$name {
            type Value<'m> = $value;

            const KIND: AttrKind = AttrKind::$kind;

            fn of_value(value: &AttrValue) -> Option<Self::Value<'_>> {
                match value {
                    AttrValue::$variant($bound) => Some($read),
                    _ => None,
                }
            }
            $(
                fn of_default<'m>(default: AttrDefault) -> Option<Self::Value<'m>> {
                    match default {
                        AttrDefault::$default($it) => Some($of_default),
                        _ => None,
                    }
                }

                fn of_declared(default: &DeclaredDefault) -> Option<Self::Value<'_>> {
                    match default {
                        DeclaredDefault::$default($it) => Some($of_declared),
                        _ => None,
                    }
                }
            )?
            $(
                fn of_nothing<'m>() -> Option<Self::Value<'m>> {
                    Some($nothing)
                }
            )?
            $(
                fn of_tensor($tensor: &Tensor) -> Option<Self::Value<'_>> {
                    $of_tensor
                }
            )?
        }
    )*};
}

kinds! {
    Float(Float) = f32, Float(value) => *value,
        default Float(value) => value, declared => *value, nothing => 0.0, tensor(tensor) => one(&floats(tensor)?);
    Int(Int) = i64, Int(value) => *value,
        default Int(value) => value, declared => *value, nothing => 0, tensor(tensor) => one(&ints(tensor)?);
    Text(String) = &'m [u8], String(value) => value.as_ref(),
        default String(value) => value.as_bytes(), declared => value.as_bytes(), nothing => &[];
    Floats(Floats) = Cow<'m, [f32]>, Floats(values) => Cow::Borrowed(values.as_slice()),
        default Floats(values) => Cow::Borrowed(values), declared => Cow::Borrowed(values),
        nothing => Cow::Borrowed(&[]),
        tensor(tensor) => floats(tensor).map(Cow::Owned);
    Ints(Ints) = Cow<'m, [i64]>, Ints(values) => Cow::Borrowed(values.as_slice()),
        default Ints(values) => Cow::Borrowed(values), declared => Cow::Borrowed(values),
        nothing => Cow::Borrowed(&[]),
        tensor(tensor) => ints(tensor).map(Cow::Owned);
    Texts(Strings) = Texts<'m>, Strings(values) => Texts::Given(values),
        default Strings(values) => Texts::Default(values), declared => Texts::Declared(values), nothing => Texts::Default(&[]);
    Tensor(Tensor) = &'m Tensor, Tensor(value) => value.as_ref(), tensor(tensor) => Some(tensor);
    Sparse(SparseTensor) = &'m SparseTensor, SparseTensor(value) => value.as_ref();
    Graph(Graph) = GraphId, Graph(value) => *value;
    Type(TypeProto) = &'m Type, Type(value) => value.as_ref();
}

/// The only element of a list.
pub(crate) fn one<T: Copy>(list: &[T]) -> Option<T> {
    match *list {
        [value] => Some(value),
        _ => None,
    }
}

/// The elements of a small tensor of integers.
fn ints(tensor: &Tensor) -> Option<Vec<i64>> {
    matches!(tensor.elem(), ElemType::Int64 | ElemType::Int32)
        .then(|| tensor.get_i64s(&NoData, MAX_ELEMENTS).ok())?
}

/// The elements of a small tensor of binary32. Other types are not converted: rounding would change the value.
fn floats(tensor: &Tensor) -> Option<Vec<f32>> {
    let is_small = tensor.element_count().is_some_and(|count| count <= MAX_ELEMENTS as u64);
    (is_small && tensor.elem() == ElemType::Float).then(|| tensor.to_vec(&NoData).ok())?
}

/// Reads an attribute as a kind of parameter, without its default: `FromCall` for a reference, `WrongKind` for another kind.
pub fn read_attribute<'m, K: Kind>(attribute: &'m Attribute) -> Param<K::Value<'m>> {
    if let Some(value) = K::of_value(attribute.value()) {
        return Param::Given(value);
    }
    match attribute.value() {
        AttrValue::Ref(target) => Param::FromCall(*target),
        AttrValue::None if attribute.kind() == K::KIND => {
            K::of_nothing().map_or(Param::WrongKind(K::KIND), Param::Given)
        }
        // Writers leave the kind of an empty list out.
        AttrValue::None if attribute.declared_kind().is_none() && is_list(K::KIND) => {
            K::of_nothing().map_or(Param::WrongKind(AttrKind::Undefined), Param::Given)
        }
        _ => Param::WrongKind(attribute.kind()),
    }
}

fn is_list(kind: AttrKind) -> bool {
    matches!(kind, AttrKind::Floats | AttrKind::Ints | AttrKind::Strings)
}
