//! Reading the elements one by one.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;

use super::element::sealed::Codec as _;
use super::element::{Element, Number, for_number};
use super::external::DataSource;
use super::fault::{TensorError, TensorFault};
use super::memory::{filled, require_memory};
use super::payload::Payload;
use super::proto::Tensor;
use super::read::SPLAT_LIMIT;
use crate::elem::{ElemClass, ElemType};

/// The elements of a tensor, read as `T` when asked for.
///
/// A view shares the tensor's bytes and assumes nothing about their alignment; a view of a splat holds one element.
#[derive(Clone)]
pub struct TensorView<T> {
    elements: Elements,
    element: PhantomData<fn() -> T>,
}

/// Canonical bytes with the number of elements in them.
#[derive(Clone)]
struct Elements {
    bytes: Bytes,
    len: usize,
    /// Whether `bytes` is the one element that stands for all.
    splat: bool,
}

impl Elements {
    #[inline]
    fn read<N>(&self, index: usize, read: impl Fn(&[u8], usize) -> Option<N>) -> Option<N> {
        if index >= self.len {
            return None;
        }
        read(&self.bytes, if self.splat { 0 } else { index })
    }

    /// Folds the elements from `next` on; borrows the bytes once instead of once per element.
    fn fold<N, B>(
        &self,
        next: usize,
        read: impl Fn(&[u8], usize) -> Option<N>,
        init: B,
        mut fold: impl FnMut(B, N) -> B,
    ) -> B {
        let bytes: &[u8] = &self.bytes;
        let mut result = init;
        for index in next..self.len {
            let Some(element) = read(bytes, if self.splat { 0 } else { index }) else { break };
            result = fold(result, element);
        }
        result
    }

    /// All elements; a splat is written out up to [`SPLAT_LIMIT`] bytes.
    fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        let Some(element) = self.read(0, T::read).filter(|_| self.splat) else {
            require_memory::<T>(self.len)?;
            return Ok(T::read_all(&self.bytes, self.len));
        };
        let size = (self.len as u64).saturating_mul(size_of::<T>() as u64);
        if size > SPLAT_LIMIT {
            return Err(TensorError::TooLarge { size, limit: SPLAT_LIMIT, unit: "bytes" });
        }
        filled(element, self.len)
    }

    fn size_hint(&self, next: usize) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(next);
        (left, Some(left))
    }
}

impl<T: Element> TensorView<T> {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len
    }

    /// Returns `true` if the view has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.len == 0
    }

    /// Element number `index` in row-major order; `None` beyond the last.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        self.elements.read(index, T::read)
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn iter(&self) -> ViewIter<T> {
        ViewIter { elements: self.elements.clone(), next: 0, element: PhantomData }
    }

    /// The elements in place, without a copy: `None` if the tensor is a splat, if the type is not one of the native numbers
    /// `f32`, `f64`, `i8` to `i64` and `u8` to `u64`, or if the bytes are not aligned for it. Weights in a file may begin
    /// anywhere; [`to_slice`](Self::to_slice) copies these.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[T]> {
        if self.is_empty() {
            return Some(&[]);
        }
        if self.elements.splat {
            return None;
        }
        T::in_place(&self.elements.bytes)?.get(..self.elements.len)
    }

    /// The elements as a slice: [in place](Self::as_slice) if possible, else copied.
    ///
    /// # Errors
    ///
    /// Returns an error if a splat takes more than [`SPLAT_LIMIT`] bytes written out.
    pub fn to_slice(&self) -> Result<Cow<'_, [T]>, TensorError> {
        match self.as_slice() {
            Some(elements) => Ok(Cow::Borrowed(elements)),
            None => self.elements.to_vec().map(Cow::Owned),
        }
    }

    /// Says that the elements are not needed soon: see [`DataSource::release`].
    pub fn release(&self, source: &dyn DataSource) {
        source.release(&self.elements.bytes);
    }

    /// The one element that all are equal to, if the tensor is a splat.
    #[must_use]
    pub fn splat(&self) -> Option<T> {
        if self.elements.splat { self.get(0) } else { None }
    }
}

impl<T: Element> IntoIterator for &TensorView<T> {
    type Item = T;
    type IntoIter = ViewIter<T>;

    fn into_iter(self) -> ViewIter<T> {
        self.iter()
    }
}

impl<T: Element> fmt::Debug for TensorView<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} x {})", self.len(), T::TYPE)
    }
}

/// The elements of a [`TensorView`].
#[derive(Clone)]
pub struct ViewIter<T> {
    elements: Elements,
    next: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Iterator for ViewIter<T> {
    type Item = T;

    #[inline]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "there is an element, so its position is less than the length"
        )
    )]
    fn next(&mut self) -> Option<T> {
        let element = self.elements.read(self.next, T::read)?;
        self.next += 1;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint(self.next)
    }

    fn nth(&mut self, n: usize) -> Option<T> {
        self.next = self.next.saturating_add(n);
        self.next()
    }

    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, fold: F) -> B {
        self.elements.fold(self.next, T::read, init, fold)
    }
}

impl<T: Element> ExactSizeIterator for ViewIter<T> {}

/// The elements of a tensor of any numeric type, converted one by one; see [`Tensor::iter_f64`] and
/// [`Tensor::iter_i64`].
#[derive(Clone)]
pub struct NumberIter<N> {
    elements: Elements,
    next: usize,
    read: fn(&[u8], usize) -> Option<N>,
}

impl<N> Iterator for NumberIter<N> {
    type Item = N;

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "there is an element, so its position is less than the length"
        )
    )]
    fn next(&mut self) -> Option<N> {
        let element = self.elements.read(self.next, self.read)?;
        self.next += 1;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint(self.next)
    }

    fn nth(&mut self, n: usize) -> Option<N> {
        self.next = self.next.saturating_add(n);
        self.next()
    }

    fn fold<B, F: FnMut(B, N) -> B>(self, init: B, fold: F) -> B {
        self.elements.fold(self.next, self.read, init, fold)
    }
}

impl<N> ExactSizeIterator for NumberIter<N> {}

impl Tensor {
    /// The elements as `T`, from whichever field or file holds them.
    ///
    /// Costs what [`Tensor::bytes`] costs, except that splats are not written out.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid, its type is not that of `T`, or the source cannot read its data.
    pub fn view<T: Element>(&self, source: &dyn DataSource) -> Result<TensorView<T>, TensorError> {
        self.validate()?;
        let found = self.elem();
        if found != T::TYPE {
            return Err(TensorError::WrongType { wanted: T::TYPE.name(), found });
        }
        Ok(TensorView { elements: self.elements(source)?, element: PhantomData })
    }

    /// The elements as a vector.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::view`], and when a splat takes more than [`SPLAT_LIMIT`] bytes written out.
    pub fn to_vec<T: Element>(&self, source: &dyn DataSource) -> Result<Vec<T>, TensorError> {
        self.view::<T>(source)?.elements.to_vec()
    }

    /// The elements of a tensor of real numbers or Booleans, each converted to `f64`: exactly, except that 64-bit integers
    /// are rounded.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid, holds strings or complex numbers, or the source cannot read its data.
    pub fn iter_f64(&self, source: &dyn DataSource) -> Result<NumberIter<f64>, TensorError> {
        self.validate()?;
        let found = self.elem();
        let read = for_number!(found, T => read_f64::<T> as fn(&[u8], usize) -> Option<f64>)
            .ok_or(TensorError::WrongType { wanted: "real numbers", found })?;
        Ok(NumberIter { elements: self.elements(source)?, next: 0, read })
    }

    /// The elements of a tensor of integers or Booleans, each converted to `i64`.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid, holds anything else, has an unsigned element that does not fit, or
    /// the source cannot read its data.
    pub fn iter_i64(&self, source: &dyn DataSource) -> Result<NumberIter<i64>, TensorError> {
        self.validate()?;
        let found = self.integer_type()?;
        let read = for_number!(found, T => read_i64::<T> as fn(&[u8], usize) -> Option<i64>)
            .ok_or(TensorError::WrongType { wanted: "integers", found })?;
        let elements = self.elements(source)?;
        if found == ElemType::Uint64 {
            check_fits(&elements)?;
        }
        Ok(NumberIter { elements, next: 0, read })
    }

    /// All elements of a small tensor of integers or Booleans, as shapes and axes are. A tensor of more than `max`
    /// elements is refused before anything of it is read.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::iter_i64`], and when there are more than `max` elements.
    pub fn get_i64s(&self, source: &dyn DataSource, max: usize) -> Result<Vec<i64>, TensorError> {
        self.validate()?;
        self.integer_type()?;
        let size = self.element_count().ok_or(TensorFault::TooManyElements)?;
        if size > max as u64 {
            return Err(TensorError::TooLarge { size, limit: max as u64, unit: "elements" });
        }
        match self.payload() {
            Payload::Int64s(entries) => Ok(entries.iter_i64().collect()),
            Payload::Raw(bytes) if self.elem() == ElemType::Int64 => Ok(i64::read_all(bytes, max)),
            _ => Ok(self.iter_i64(source)?.collect()),
        }
    }

    fn integer_type(&self) -> Result<ElemType, TensorError> {
        let found = self.elem();
        match found.class() {
            ElemClass::Int | ElemClass::Uint | ElemClass::Bool => Ok(found),
            _ => Err(TensorError::WrongType { wanted: "integers", found }),
        }
    }

    fn elements(&self, source: &dyn DataSource) -> Result<Elements, TensorError> {
        let (_, count) = self.fixed_width()?;
        let too_large = |_| TensorError::TooLarge { size: count, limit: usize::MAX as u64, unit: "elements" };
        let len = usize::try_from(count).map_err(too_large)?;
        match self.payload() {
            Payload::Splat(splat) => {
                Ok(Elements { bytes: Bytes::copy_from_slice(splat.bytes()), len, splat: true })
            }
            _ => Ok(Elements { bytes: self.bytes(source)?, len, splat: false }),
        }
    }
}

fn read_f64<T: Number>(bytes: &[u8], index: usize) -> Option<f64> {
    T::read(bytes, index).map(T::to_f64)
}

fn read_i64<T: Number>(bytes: &[u8], index: usize) -> Option<i64> {
    T::read(bytes, index).and_then(T::to_i64)
}

fn check_fits(elements: &Elements) -> Result<(), TensorError> {
    let chunks = elements.bytes.as_chunks().0;
    let values = (0..).zip(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
    match values.into_iter().find(|&(_, value)| i64::try_from(value).is_err()) {
        Some((index, value)) => Err(TensorError::NotI64 { index, value }),
        None => Ok(()),
    }
}
