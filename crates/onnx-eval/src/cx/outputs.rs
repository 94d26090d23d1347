//! Outputs.

use std::sync::Arc;

use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Splat, Tensor};

use super::{Cx, Outcome, Stop, reuse};
use crate::budget;
use crate::interrupt_poll::STEPS;
use crate::number::{Number, Unit};
use crate::value::Value;

impl Cx<'_, '_> {
    /// Returns `true` if the node names an output at this index.
    #[must_use]
    pub fn wants(&self, index: usize) -> bool {
        self.node.output(index).is_some()
    }

    /// Number of outputs that the node names, omitted ones in the middle included.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.node.outputs().len()
    }

    /// An empty vector with room for elements, which the budget counts. The system has room for a copy of it, too.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, or the system has no memory.
    pub fn buffer<T>(&mut self, count: usize) -> Outcome<Vec<T>> {
        self.budget.account(count, size_of::<T>())?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(count).map_err(|_| Stop::out_of_memory(count, size_of::<T>()))?;
        // Kernels convert what they have made, by means that end the process if the system has no memory.
        budget::probe(count, size_of::<T>())?;
        Ok(buffer)
    }

    /// A vector of equal elements.
    ///
    /// # Errors
    ///
    /// See [`Cx::buffer`].
    pub fn filled<T: Clone>(&mut self, count: usize, element: T) -> Outcome<Vec<T>> {
        let mut buffer = self.buffer(count)?;
        for start in (0..count).step_by(STEPS) {
            let end = count.min(start.saturating_add(STEPS));
            self.poll().step(end - start)?;
            buffer.resize(end, element.clone());
        }
        Ok(buffer)
    }

    /// The items of an iterator, which the budget counts.
    ///
    /// # Errors
    ///
    /// See [`Cx::buffer`].
    pub fn collect<T>(&mut self, mut items: impl ExactSizeIterator<Item = T>) -> Outcome<Vec<T>> {
        let mut buffer = self.buffer(items.len())?;
        while items.len() > 0 {
            self.poll().step(items.len().min(STEPS))?;
            buffer.extend(items.by_ref().take(STEPS));
        }
        Ok(buffer)
    }

    /// A copy of elements, which the budget counts.
    ///
    /// # Errors
    ///
    /// See [`Cx::buffer`].
    pub fn copied<T: Clone>(&mut self, elements: &[T]) -> Outcome<Vec<T>> {
        /// Work of a reference that is counted when a copy is made, and when it ends.
        const SHARED: usize = 64;
        let mut buffer = self.buffer(elements.len())?;
        if std::mem::needs_drop::<T>() {
            self.work(elements.len().saturating_mul(SHARED))?;
        }
        self.poll().copy(elements, &mut buffer)?;
        Ok(buffer)
    }

    /// Sets an output.
    ///
    /// # Errors
    ///
    /// None so far.
    pub fn put_value(&mut self, index: usize, value: impl Into<Value>) -> Outcome {
        if self.outputs.len() <= index {
            self.outputs.resize(index + 1, None);
        }
        if let Some(slot) = self.outputs.get_mut(index) {
            *slot = Some(value.into());
        }
        Ok(())
    }

    /// Sets an output to a tensor of numbers, which are rounded or wrapped to the element type.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of elements is not that of the sizes.
    pub fn put<T: Number>(
        &mut self,
        index: usize,
        elem: ElemType,
        dims: &[usize],
        elements: Vec<T>,
    ) -> Outcome {
        if !reuse::is_kept::<T>(elem, elements.len()) {
            self.budget.convert(elements.len(), stored_size(elem))?;
            let tensor = self.tensor_of(elem, dims, T::encode(elem, elements))?;
            return self.put_value(index, tensor);
        }
        let elements = Arc::new(elements);
        let tensor = self.tensor_of(elem, dims, Payload::Raw(T::shared(&elements)))?;
        self.put_value(index, tensor)?;
        self.buffers.resize(self.outputs.len(), None);
        if let Some(slot) = self.buffers.get_mut(index) {
            *slot = Some(elements);
        }
        Ok(())
    }

    /// Sets an output to complex numbers with these real and imaginary parts.
    pub(crate) fn put_complex(
        &mut self,
        index: usize,
        elem: ElemType,
        dims: &[usize],
        [real, imaginary]: &[Vec<f64>; 2],
    ) -> Outcome {
        let parts = real.iter().zip(imaginary);
        if elem == ElemType::Complex64 {
            let bits = |part: f64| u64::from((part as f32).to_bits());
            let units = self.collect(parts.map(|(&a, &b)| bits(a) | bits(b) << 32))?;
            return self.put_units(index, elem, dims, units);
        }
        let bits = |part: f64| u128::from(part.to_bits());
        let units = self.collect(parts.map(|(&a, &b)| bits(a) | bits(b) << 64))?;
        self.put_units(index, elem, dims, units)
    }

    /// Sets an output to a tensor of units.
    ///
    /// # Errors
    ///
    /// See [`Cx::put`].
    pub fn put_units<U: Unit>(
        &mut self,
        index: usize,
        elem: ElemType,
        dims: &[usize],
        units: Vec<U>,
    ) -> Outcome {
        // Others are stored as they are.
        if elem.bits().is_none_or(|bits| bits < 8) {
            self.budget.convert(units.len(), stored_size(elem))?;
        }
        let tensor = self.tensor_of(elem, dims, U::store(elem, units))?;
        self.put_value(index, tensor)
    }

    /// Sets an output to the elements of an operand with other sizes, or other bits-compatible type; nothing is copied.
    ///
    /// # Errors
    ///
    /// Returns an error if the sizes have another number of elements.
    pub fn put_reshaped(&mut self, index: usize, tensor: &Tensor, dims: &[usize]) -> Outcome {
        let reshaped = self.tensor_of(tensor.elem(), dims, tensor.payload().clone())?;
        self.put_value(index, reshaped)
    }

    /// A tensor whose payload has the elements of the sizes.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not.
    pub fn tensor_of(&self, elem: ElemType, dims: &[usize], payload: Payload) -> Outcome<Arc<Tensor>> {
        let sizes = dims.iter().map(|&dim| i64::try_from(dim));
        let sizes = sizes.collect::<Result<_, _>>().map_err(|_| Stop::Limit("run_elements"))?;
        let tensor = Tensor::from_parts(elem.code(), sizes, payload);
        tensor.validate()?;
        Ok(Arc::new(tensor))
    }

    /// A tensor of any size with one element everywhere, which takes the memory of one; `None` for strings.
    pub(crate) fn splat(elem: ElemType, payload: &Payload) -> Option<Payload> {
        match payload {
            Payload::Raw(bytes) => Splat::new(bytes).map(Payload::Splat).filter(|_| elem.bits().is_some()),
            Payload::Splat(splat) => Some(Payload::Splat(*splat)),
            _ => None,
        }
    }
}

/// Bytes of an element in a payload that is made of a vector.
fn stored_size(elem: ElemType) -> usize {
    elem.bits().map_or(size_of::<bytes::Bytes>(), |bits| (bits as usize).div_ceil(8))
}
