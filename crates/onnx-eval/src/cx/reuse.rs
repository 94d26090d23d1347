//! Results in the memory of operands.
//!
//! A result that a kernel makes in a vector is kept twice: as the bytes of the tensor, and as the vector that owns them. A kernel
//! gets the vector back if all bytes over it are gone, so that it can overwrite them; the count of owners is the proof.

use std::any::Any;
use std::sync::Arc;

use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Splat, Tensor};

use super::{Cx, Operand, Outcome};
use crate::number::Number;

/// The vector of the elements of a tensor.
pub(crate) type Buffer = Arc<dyn Any + Send + Sync>;

/// The inputs whose memory a kernel can reuse are the first ones.
pub(crate) const REUSED_INPUTS: usize = 2;

/// The least number of elements of a vector that is reused. The elements of shorter operands may be part of a message, also after
/// the kernel has overwritten them.
const LEAST: usize = 1024;

/// Whether the vector of a result is kept: it has the form in which elements are in memory.
pub(super) fn is_kept<T>(elem: ElemType, count: usize) -> bool {
    let is_same_size = elem.bits().is_some_and(|bits| bits as usize == size_of::<T>() * 8);
    cfg!(target_endian = "little") && is_same_size && count >= LEAST
}

impl Cx<'_, '_> {
    /// The elements of an input in a vector that the kernel overwrites, if nothing else uses them; else the operand. The input
    /// keeps its type and sizes only.
    pub(crate) fn reuse<T: Number>(
        &mut self,
        index: usize,
        operand: Operand,
    ) -> Outcome<Result<Vec<T>, Operand>> {
        // The operand itself and the input.
        if Arc::strong_count(&operand.tensor) != 2 {
            return Ok(Err(operand));
        }
        let buffer = self.spare.get_mut(index).and_then(Option::take);
        let elements = buffer.and_then(|buffer| buffer.downcast::<Vec<T>>().ok());
        let zero = Splat::new(&[0; 16][..size_of::<T>()]);
        let (Some(elements), Some(zero), Some(input)) = (elements, zero, self.inputs.get_mut(index)) else {
            return Ok(Err(operand));
        };
        let (code, dims) = (operand.elem.code(), operand.tensor.dims().to_vec());
        let tensor = |payload| Tensor::from_parts(code, dims.iter().copied().collect(), payload);
        *input = Some(tensor(Payload::Splat(zero)).into());
        drop(operand);
        match Arc::try_unwrap(elements) {
            Ok(elements) => {
                self.budget.reuse(elements.len(), size_of::<T>())?;
                Ok(Ok(elements))
            }
            // Another tensor has the same bytes, such as the result of a `Reshape`.
            Err(elements) => {
                let tensor = Arc::new(tensor(Payload::Raw(T::shared(&elements))));
                *input = Some(Arc::clone(&tensor).into());
                Operand::new(tensor).map(Err)
            }
        }
    }
}
