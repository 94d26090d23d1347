//! The attributes that operators declare.

use std::fmt;

use onnx_types::Symbol;

use crate::generated::names::NAMES;

/// The kind of an attribute's value, with the numbers of `AttributeProto.AttributeType`.
///
/// The kind in a schema is never [`AttrKind::Undefined`]; that of an attribute in a file can be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AttrKind {
    /// The file states that the kind is undefined.
    Undefined = 0,
    /// One 32-bit float.
    Float = 1,
    /// One 64-bit integer.
    Int = 2,
    /// One byte string, by convention UTF-8.
    String = 3,
    /// One tensor.
    Tensor = 4,
    /// One graph.
    Graph = 5,
    /// A list of floats.
    Floats = 6,
    /// A list of integers.
    Ints = 7,
    /// A list of byte strings.
    Strings = 8,
    /// A list of tensors.
    Tensors = 9,
    /// A list of graphs.
    Graphs = 10,
    /// One sparse tensor.
    SparseTensor = 11,
    /// A list of sparse tensors.
    SparseTensors = 12,
    /// One type.
    TypeProto = 13,
    /// A list of types.
    TypeProtos = 14,
}

impl AttrKind {
    /// All kinds in the order of their codes.
    pub const ALL: [Self; 15] = [
        Self::Undefined,
        Self::Float,
        Self::Int,
        Self::String,
        Self::Tensor,
        Self::Graph,
        Self::Floats,
        Self::Ints,
        Self::Strings,
        Self::Tensors,
        Self::Graphs,
        Self::SparseTensor,
        Self::SparseTensors,
        Self::TypeProto,
        Self::TypeProtos,
    ];

    /// The number that files use.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The kind that a file's number stands for, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// The name in `AttributeProto.AttributeType`, such as `SPARSE_TENSOR`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "UNDEFINED",
            Self::Float => "FLOAT",
            Self::Int => "INT",
            Self::String => "STRING",
            Self::Tensor => "TENSOR",
            Self::Graph => "GRAPH",
            Self::Floats => "FLOATS",
            Self::Ints => "INTS",
            Self::Strings => "STRINGS",
            Self::Tensors => "TENSORS",
            Self::Graphs => "GRAPHS",
            Self::SparseTensor => "SPARSE_TENSOR",
            Self::SparseTensors => "SPARSE_TENSORS",
            Self::TypeProto => "TYPE_PROTO",
            Self::TypeProtos => "TYPE_PROTOS",
        }
    }

    /// The name in ONNX text, such as `ints` or `sparse_tensor`.
    #[must_use]
    pub const fn text_name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Float => "float",
            Self::Int => "int",
            Self::String => "string",
            Self::Tensor => "tensor",
            Self::Graph => "graph",
            Self::Floats => "floats",
            Self::Ints => "ints",
            Self::Strings => "strings",
            Self::Tensors => "tensors",
            Self::Graphs => "graphs",
            Self::SparseTensor => "sparse_tensor",
            Self::SparseTensors => "sparse_tensors",
            Self::TypeProto => "type_proto",
            Self::TypeProtos => "type_protos",
        }
    }
}

impl fmt::Display for AttrKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The value an attribute has where a node does not give it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum AttrDefault {
    /// One float.
    Float(f32),
    /// One integer.
    Int(i64),
    /// One string.
    String(&'static str),
    /// A list of floats.
    Floats(&'static [f32]),
    /// A list of integers.
    Ints(&'static [i64]),
    /// A list of strings.
    Strings(&'static [&'static str]),
}

impl AttrDefault {
    /// The kind of the value.
    #[must_use]
    pub const fn kind(&self) -> AttrKind {
        match self {
            Self::Float(_) => AttrKind::Float,
            Self::Int(_) => AttrKind::Int,
            Self::String(_) => AttrKind::String,
            Self::Floats(_) => AttrKind::Floats,
            Self::Ints(_) => AttrKind::Ints,
            Self::Strings(_) => AttrKind::Strings,
        }
    }
}

/// An attribute that an operator declares.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct FormalAttribute {
    /// Its name.
    pub name: Symbol,
    /// The kind its value must have.
    pub kind: AttrKind,
    /// Whether every node must give it.
    pub is_required: bool,
    /// Its value where a node does not give it. The absence of an attribute that is neither required nor has a default
    /// has a separate meaning.
    pub default: Option<AttrDefault>,
}

impl FormalAttribute {
    /// The text of the name.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        NAMES[self.name.index() as usize]
    }
}

pub(crate) const fn attribute(name: Symbol, kind: AttrKind) -> FormalAttribute {
    FormalAttribute { name, kind, is_required: false, default: None }
}

pub(crate) const fn required(name: Symbol, kind: AttrKind) -> FormalAttribute {
    FormalAttribute { name, kind, is_required: true, default: None }
}

pub(crate) const fn defaulted(name: Symbol, default: AttrDefault) -> FormalAttribute {
    FormalAttribute { name, kind: default.kind(), is_required: false, default: Some(default) }
}
