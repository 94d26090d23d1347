//! What is known about the elements of small tensors.
//!
//! Shapes are computed with in the graph: `Shape`, `Gather`, `Mul`, `Concat` and at last `Reshape`. So the elements of small
//! tensors of numbers are followed as far as they are numbers, dimensions, fractions of dimensions, or unknown. Truth
//! values are the integers 0 and 1.

use std::sync::Arc;

use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};
use onnx_types::{Dim, ElemClass, ElemType};

/// What is known about one element.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Elem {
    /// Nothing.
    #[default]
    Unknown,
    /// An integer: a number, a symbol or an expression, never [`Dim::Unknown`]. In a tensor of floats it is the float of
    /// the same value, which has it exactly.
    Int(Dim),
    /// The fraction of an expression by a power of two greater than 1, in a tensor of floats that holds it exactly.
    Dyadic(Dim, u32),
    /// The rounded quotient of an expression by a number greater than 1 in a tensor of floats. Rounding it down or up gives
    /// what the exact quotient gives; nothing else may be computed from it.
    Quotient(Dim, i64),
    /// A number of a tensor of floats that is not an integer.
    Float(f64),
}

impl Elem {
    /// An integer, unknown when the dimension is.
    #[must_use]
    pub const fn int(dim: Dim) -> Self {
        match dim {
            Dim::Unknown => Self::Unknown,
            dim => Self::Int(dim),
        }
    }

    /// A truth value.
    #[must_use]
    pub const fn bool(value: bool) -> Self {
        Self::Int(Dim::Known(value as i64))
    }

    /// A number, as an integer where it is one that every float type before it holds exactly.
    #[must_use]
    pub fn number(value: f64) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            Self::Int(Dim::Known(value as i64))
        } else {
            Self::Float(value)
        }
    }

    /// The integer, if it is one: [`Dim::Unknown`] otherwise.
    #[must_use]
    pub const fn dim(self) -> Dim {
        match self {
            Self::Int(dim) => dim,
            _ => Dim::Unknown,
        }
    }

    /// The integer, if it is a number.
    #[must_use]
    pub const fn known(self) -> Option<i64> {
        self.dim().known()
    }

    /// The number, if it is one, integer or not.
    #[must_use]
    pub const fn to_f64(self) -> Option<f64> {
        match self {
            Self::Int(Dim::Known(value)) => Some(value as f64),
            Self::Float(value) => Some(value),
            _ => None,
        }
    }
}

/// The elements of a small tensor of known shape, in row-major order. The shape is that of the value.
pub type Content = Arc<[Elem]>;

/// The elements of a constant of at most `max` elements; nothing for text and complex numbers.
pub(crate) fn of_tensor(
    tensor: &Tensor,
    source: &dyn DataSource,
    max: usize,
) -> Option<Result<Content, TensorError>> {
    let count = usize::try_from(tensor.element_count()?).ok().filter(|&count| count <= max)?;
    if let Some(content) = of_bytes(tensor, count) {
        return Some(Ok(content));
    }
    match tensor.elem().class() {
        ElemClass::Int | ElemClass::Uint | ElemClass::Bool => {
            let values = tensor.get_i64s(source, count);
            Some(values.map(|all| all.into_iter().map(|value| Elem::Int(Dim::Known(value))).collect()))
        }
        ElemClass::Float => Some(tensor.iter_f64(source).map(|all| all.map(Elem::number).collect())),
        _ => None,
    }
}

/// Like [`of_tensor`], for numbers that the tensor stores as bytes, as nearly all constants do, without the work that
/// other tensors need.
fn of_bytes(tensor: &Tensor, count: usize) -> Option<Content> {
    let Payload::Raw(bytes) = tensor.payload() else { return None };
    let fits = |width: usize| count.checked_mul(width) == Some(bytes.len());
    match tensor.elem() {
        ElemType::Int64 if fits(8) => {
            let (numbers, _) = bytes.as_chunks();
            Some(numbers.iter().map(|&number| Elem::Int(Dim::Known(i64::from_le_bytes(number)))).collect())
        }
        ElemType::Float if fits(4) => {
            let (numbers, _) = bytes.as_chunks();
            let number = |&number: &[u8; 4]| Elem::number(f64::from(f32::from_le_bytes(number)));
            Some(numbers.iter().map(number).collect())
        }
        _ => None,
    }
}
