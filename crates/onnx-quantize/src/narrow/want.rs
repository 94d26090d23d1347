//! What is known about the type of a slot, and why it keeps it.

use onnx_types::Symbol;

/// What is known about the type of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Want {
    /// Nothing is computed in it: elements move. It changes if that does not cost casts.
    Free,
    /// It computes, and may do so in the new type.
    Narrow,
    /// It keeps its type.
    Wide,
}

/// Why a slot keeps its type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum WideReason {
    /// The operator does not take the new type there in the version that is imported.
    Signature,
    /// The operator is not known.
    Unknown,
    /// It was not selected, or excepted.
    Selection,
    /// A number on the way is out of the range of the narrow type.
    Range,
    /// A scale or a factor is too small for the narrow type.
    Precision,
    /// It computes a size or an index, which has to be exact.
    Index,
    /// It is between pairs of quantized numbers with scales that stay: casts around it would hide it from runtimes that compute it with
    /// quantized numbers.
    Pairs,
    /// It belongs to pairs of quantized numbers of which onnxruntime makes an operator that does not take narrow scales, or computes
    /// wrongly with them.
    Runtime,
    /// It counts, sums what a loop carries, or computes with positions: whole numbers have to be exact.
    Count,
    /// The inputs and outputs of the model keep their types.
    Interface,
    /// The result would not be valid.
    Validity,
}

impl WideReason {
    /// The reason as a clause.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Signature => "its version does not take the type there",
            Self::Unknown => "the operator or a type is not known",
            Self::Selection => "it is not selected",
            Self::Range => "numbers are out of range or near its end",
            Self::Precision => "a scale or a factor is too small for the type",
            Self::Index => "it computes a size or an index",
            Self::Pairs => "it is between pairs of quantized numbers whose scales stay",
            Self::Runtime => "onnxruntime has no operator with quantized numbers and narrow scales there",
            Self::Count => "it counts, or computes with positions",
            Self::Interface => "inputs and outputs keep their types",
            Self::Validity => "the result would not be valid",
        }
    }
}

/// An attribute that states the type of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TypeAttribute {
    /// The code of the element type.
    Code(Symbol),
    /// The name of the element type, in old versions of `Cast`.
    Name(Symbol),
    /// The type of the value of a tensor; an absent one is a zero of `float`.
    Tensor(Symbol),
    /// A type.
    Type(Symbol),
}
