//! Initializers: the constants of a graph.

use onnx_types::tensor::Tensor;
use onnx_types::{FieldForms, UnknownFields};
use smallvec::SmallVec;

/// A sparse tensor (message `SparseTensorProto`).
#[derive(Clone, Debug, PartialEq)]
pub struct SparseTensor {
    /// The values that are not zero: a tensor of rank 1 and length NNZ.
    pub values: Option<Tensor>,
    /// The locations of the values: `[NNZ]` linear or `[NNZ, rank]` coordinates, in ascending order.
    pub indices: Option<Tensor>,
    /// The dimensions of the dense tensor.
    pub dims: SmallVec<[i64; 4]>,
    /// Whether `dims` are packed.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// The content of an initializer.
///
/// The name of an initializer is the name of its value; the tensor inside carries none.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A dense tensor.
    Dense(Tensor),
    /// A sparse tensor; its value has the name that the file gives to the tensor of its values.
    Sparse(SparseTensor),
}

impl Constant {
    /// The tensor, if it is dense.
    #[must_use]
    pub const fn dense(&self) -> Option<&Tensor> {
        match self {
            Self::Dense(tensor) => Some(tensor),
            Self::Sparse(_) => None,
        }
    }
}

impl From<Tensor> for Constant {
    fn from(tensor: Tensor) -> Self {
        Self::Dense(tensor)
    }
}
