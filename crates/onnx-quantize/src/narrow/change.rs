//! The two directions: `float` becomes narrow, and a narrow format becomes `float`.

use onnx_types::ElemType;
use onnx_types::tensor::{Element, Tensor, bf16, f16};

use super::rounding::{Half, mapped, round};
use crate::weights::{Reading, ReadingError};

/// The element type that is replaced, and the one that replaces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// `float` becomes this format.
    Narrow(Half),
    /// This format becomes `float`.
    Widen(Half),
}

impl Change {
    /// The type that is replaced.
    pub(crate) const fn from(self) -> ElemType {
        match self {
            Self::Narrow(_) => ElemType::Float,
            Self::Widen(half) => half.elem(),
        }
    }

    /// The type that replaces it.
    pub(crate) const fn to(self) -> ElemType {
        match self {
            Self::Narrow(half) => half.elem(),
            Self::Widen(_) => ElemType::Float,
        }
    }

    /// A constant in the other type.
    pub(crate) fn converted(self, tensor: &Tensor, reading: Reading<'_>) -> Result<Tensor, ReadingError> {
        match self {
            Self::Narrow(half) => round(tensor, half, reading),
            Self::Widen(Half::Float16) => widened(tensor, f16::to_f32, reading),
            Self::Widen(Half::Bfloat16) => widened(tensor, bf16::to_f32, reading),
        }
    }
}

/// A narrow tensor as `float`, which has each of its numbers.
fn widened<T: Element + Copy>(
    tensor: &Tensor,
    to_float: fn(T) -> f32,
    reading: Reading<'_>,
) -> Result<Tensor, ReadingError> {
    let dims = tensor.dims().to_vec();
    let view = tensor.view::<T>(reading.data)?;
    let mut wide = match view.splat() {
        Some(number) => Tensor::splat(dims, to_float(number))?,
        None => {
            let floats = mapped(view.iter(), reading.interrupt, |number| to_float(number).to_le_bytes())?;
            Tensor::from_raw(ElemType::Float, dims, floats)?
        }
    };
    view.release(reading.data);
    if !tensor.name().is_empty() {
        wide.set_name(tensor.name());
    }
    Ok(wide.held(reading.data))
}
