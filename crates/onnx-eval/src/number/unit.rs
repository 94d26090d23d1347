//! Elements as units that are moved: bytes of a width, or strings.

use std::sync::Arc;

use bytes::Bytes;
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, Payload, SPLAT_LIMIT, Tensor, TensorError};

use super::Elems;

/// The unit in which elements of a type are moved; elements narrower than a byte are moved as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnitWidth {
    W1,
    W2,
    W4,
    W8,
    W16,
    Text,
}

pub(crate) fn unit_width(elem: ElemType) -> UnitWidth {
    match elem.bits() {
        None => UnitWidth::Text,
        Some(0..=8) => UnitWidth::W1,
        Some(16) => UnitWidth::W2,
        Some(32) => UnitWidth::W4,
        Some(64) => UnitWidth::W8,
        Some(_) => UnitWidth::W16,
    }
}

/// A type that elements are moved as.
pub trait Unit: Clone + Send + Sync + 'static {
    /// Zero, or the empty string.
    fn zero() -> Self;
    /// The elements of a tensor, whose type is moved in this unit.
    ///
    /// # Errors
    ///
    /// Returns the reason if the tensor cannot be read.
    fn load(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<Self>, TensorError>;
    /// The payload of elements of a type that is moved in this unit.
    fn store(elem: ElemType, elements: Vec<Self>) -> Payload;
}

/// The elements as bytes. The size of a splat is that of the result; the caller bounds it.
fn bytes_in(tensor: &Tensor, data: &dyn DataSource) -> Result<Bytes, TensorError> {
    if !matches!(tensor.payload(), Payload::Splat(_)) {
        return tensor.bytes(data);
    }
    let size = tensor.byte_len().unwrap_or(u64::MAX);
    let too_large = || TensorError::TooLarge { size, limit: SPLAT_LIMIT, unit: "bytes" };
    let mut bytes = Vec::new();
    // More than the system provides is an error, whatever the caller allows.
    let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
    reserved.ok_or_else(too_large)?;
    tensor.chunks(data)?.for_each(|chunk| bytes.extend_from_slice(&chunk));
    Ok(bytes.into())
}

/// A vector as the owner of shared bytes.
struct Owner<T>(Arc<Vec<T>>);

impl<T: bytemuck::NoUninit> AsRef<[u8]> for Owner<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// The bytes of a vector that is shared with them, in the order of memory.
pub(super) fn shared<T: bytemuck::NoUninit + Send + Sync>(elements: &Arc<Vec<T>>) -> Bytes {
    Bytes::from_owner(Owner(Arc::clone(elements)))
}

/// The little-endian bytes of numbers, without a copy where memory has this order already.
fn bytes_of<T: bytemuck::NoUninit + Send + Sync>(mut elements: Vec<T>, to_le: fn(T) -> T) -> Bytes {
    if cfg!(target_endian = "big") {
        for element in &mut elements {
            *element = to_le(*element);
        }
    }
    Bytes::from_owner(Owner(Arc::new(elements)))
}

fn cast<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Option<&[T]> {
    if cfg!(target_endian = "big") && size_of::<T>() > 1 {
        return None;
    }
    bytemuck::try_cast_slice(bytes).ok()
}

macro_rules! unit {
    ($($type:ty: $zero:expr, $from:expr, $to:expr;)*) => {$(
        impl Unit for $type {
            fn zero() -> Self {
                $zero
            }

            fn load(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<Self>, TensorError> {
                let bytes = match super::narrow::unpacked(tensor, data)? {
                    Some(codes) => Bytes::from(codes),
                    None => bytes_in(tensor, data)?,
                };
                Ok(Elems::in_place(bytes, cast::<Self>).unwrap_or_else(|bytes| {
                    let chunks = bytes.as_chunks::<{ size_of::<Self>() }>().0;
                    Elems::owned(chunks.iter().map(|chunk| $from(*chunk)).collect())
                }))
            }

            fn store(elem: ElemType, elements: Vec<Self>) -> Payload {
                let bytes = bytes_of(elements, $to);
                Payload::Raw(super::narrow::packed(elem, bytes))
            }
        }
    )*};
}

unit! {
    u8: 0, <Self>::from_le_bytes, <Self>::to_le;
    u16: 0, <Self>::from_le_bytes, <Self>::to_le;
    u32: 0, <Self>::from_le_bytes, <Self>::to_le;
    u64: 0, <Self>::from_le_bytes, <Self>::to_le;
    u128: 0, <Self>::from_le_bytes, <Self>::to_le;
    i64: 0, <Self>::from_le_bytes, <Self>::to_le;
    f32: 0.0, <Self>::from_le_bytes, |value| <Self>::from_bits(value.to_bits().to_le());
    f64: 0.0, <Self>::from_le_bytes, |value| <Self>::from_bits(value.to_bits().to_le());
}

impl Unit for Bytes {
    fn zero() -> Self {
        Self::new()
    }

    fn load(tensor: &Tensor, _: &dyn DataSource) -> Result<Elems<Self>, TensorError> {
        Ok(Elems::owned(tensor.string_bytes()?.to_vec()))
    }

    fn store(_: ElemType, elements: Vec<Self>) -> Payload {
        Payload::strings(elements)
    }
}
