//! Making tensors.

use bytes::Bytes;

use super::element::Element;
use super::external::ExternalData;
use super::fault::TensorFault;
use super::payload::{Payload, Splat};
use super::proto::{Tensor, TensorDims};
use crate::elem::ElemType;

impl Tensor {
    /// A tensor over little-endian bytes, elements narrower than a byte packed.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of bytes is not the one that type and dimensions imply, a dimension is negative,
    /// or the type has no fixed width.
    pub fn from_raw(
        elem: ElemType,
        dims: impl IntoIterator<Item = i64>,
        bytes: impl Into<Bytes>,
    ) -> Result<Self, TensorFault> {
        Self::checked(elem, dims, Payload::Raw(bytes.into()))
    }

    /// A tensor of the given elements in row-major order.
    ///
    /// ```
    /// use onnx_types::tensor::{NoData, Tensor};
    ///
    /// let tensor = Tensor::from_slice([2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(tensor.view::<f32>(&NoData)?.get(2), Some(3.0));
    /// assert!(Tensor::from_slice([3], &[1_i64]).is_err());
    /// # Ok::<(), onnx_types::tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if their number is not the one that the dimensions imply, or a dimension is negative.
    pub fn from_slice<T: Element>(
        dims: impl IntoIterator<Item = i64>,
        elements: &[T],
    ) -> Result<Self, TensorFault> {
        let tensor = Self::of(T::TYPE, dims, Payload::Raw(T::write_all(elements).into()));
        tensor.validate()?;
        // Packed elements can have the right number of bytes and still not be as many as the dimensions say.
        let (expected, found) = (tensor.element_count().unwrap_or(0), elements.len() as u64);
        if expected != found {
            return Err(TensorFault::WrongCount { field: "raw_data", expected, found });
        }
        Ok(tensor)
    }

    /// A tensor of one dimension with the given elements.
    #[must_use]
    pub fn vector<T: Element>(elements: &[T]) -> Self {
        // A slice has at most `isize::MAX` elements.
        Self::of(T::TYPE, [elements.len() as i64], Payload::Raw(T::write_all(elements).into()))
    }

    /// A tensor without dimensions: one element.
    #[must_use]
    pub fn scalar<T: Element>(element: T) -> Self {
        Self::of(T::TYPE, [], Payload::Raw(T::write_all(&[element]).into()))
    }

    /// A tensor of strings in row-major order.
    ///
    /// # Errors
    ///
    /// Returns an error if their number is not the one that the dimensions imply, or a dimension is negative.
    pub fn from_strings<S: AsRef<str>>(
        dims: impl IntoIterator<Item = i64>,
        strings: impl IntoIterator<Item = S>,
    ) -> Result<Self, TensorFault> {
        let copy = |text: S| Bytes::copy_from_slice(text.as_ref().as_bytes());
        Self::checked(ElemType::String, dims, Payload::Strings(strings.into_iter().map(copy).collect()))
    }

    /// A tensor of any size with the same element everywhere. It takes the memory of one.
    ///
    /// # Errors
    ///
    /// Returns an error if a dimension is negative, or there are too many elements to count.
    pub fn splat<T: Element>(dims: impl IntoIterator<Item = i64>, element: T) -> Result<Self, TensorFault> {
        let bytes = T::write_all(&[element]);
        let payload = Splat::new(&bytes).map_or(Payload::None, Payload::Splat);
        Self::checked(T::TYPE, dims, payload)
    }

    /// A tensor whose elements are stored in another file.
    ///
    /// # Errors
    ///
    /// Returns an error if the entries are wrong, their length is not the one that type and dimensions imply, a
    /// dimension is negative, or the type has no fixed width.
    pub fn external(
        elem: ElemType,
        dims: impl IntoIterator<Item = i64>,
        data: ExternalData,
    ) -> Result<Self, TensorFault> {
        Self::checked(elem, dims, Payload::External(data))
    }

    fn checked(
        elem: ElemType,
        dims: impl IntoIterator<Item = i64>,
        payload: Payload,
    ) -> Result<Self, TensorFault> {
        let tensor = Self::of(elem, dims, payload);
        tensor.validate().map(|()| tensor)
    }

    fn of(elem: ElemType, dims: impl IntoIterator<Item = i64>, payload: Payload) -> Self {
        Self::from_parts(elem.code(), dims.into_iter().collect::<TensorDims>(), payload)
    }
}
