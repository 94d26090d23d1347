//! Tensors: a type, dimensions, and elements that are decoded on demand.
//!
//! # What a tensor is
//!
//! A [`Tensor`] holds what a `TensorProto` says, and belongs to no model. It is made of a type, dimensions and elements,
//! or by a decoder from whatever a file contains:
//!
//! ```
//! use onnx_types::ElemType;
//! use onnx_types::tensor::{NoData, Tensor, TensorError};
//!
//! let weights = Tensor::from_slice([2, 3], &[0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0])?;
//! assert_eq!(weights.elem(), ElemType::Float);
//! assert_eq!(weights.dims(), [2, 3]);
//! assert_eq!(weights.element_count(), Some(6));
//! assert_eq!(weights.byte_len(), Some(24));
//! # Ok::<(), TensorError>(())
//! ```
//!
//! # Where the elements are stored
//!
//! ONNX has seven places for elements: `raw_data`, five typed fields of numbers or strings, of which the type decides
//! which one may be used, and another file. The [`Payload`] says which place it is and keeps its bytes *as they are*: a
//! slice of the file that was read. Varints stay [`Varints`], and an element of an external tensor is only a name with a
//! range ([`ExternalData`]). An eighth kind exists only in memory: a [`Splat`] is one element that fills a tensor of any
//! size.
//!
//! So loading a model reads no weight, cloning a tensor copies none, and writing an unchanged tensor writes the bytes
//! that were read. To write a file back exactly, a tensor also records explicitly encoded defaults ([`Tensor::forms`]),
//! the layout of repeated numbers ([`TensorLayout`]), and the other content of the message ([`TensorExtra`]).
//!
//! # Reading
//!
//! Reading hides the place. [`Tensor::bytes`] gives the canonical form: little-endian, elements narrower than a byte
//! packed from the lowest bit on. [`Tensor::view`] gives elements of a Rust type ([`Element`]), [`Tensor::to_vec`] all of
//! them, [`Tensor::iter_f64`] and [`Tensor::iter_i64`] any numeric type as a wide one, [`Tensor::get_i64s`] the few
//! integers of a shape, [`Tensor::strings`] text.
//!
//! ```
//! use onnx_types::ElemType;
//! use onnx_types::tensor::{ExternalData, I4, MemoryData, NoData, Payload, Tensor, TensorError, Varints};
//!
//! // The same three 4-bit integers, in `int32_data` (two to an entry) and in another file.
//! let varints = Varints::from_i32s([0xf7, 0x02]);
//! let typed = Tensor::from_parts(ElemType::Int4.code(), [3].as_slice().into(), Payload::Int32s(varints));
//! let external = Tensor::external(ElemType::Int4, [3], ExternalData::new("w.bin").with_offset(1))?;
//! let mut files = MemoryData::new();
//! files.insert("w.bin", vec![0xaa, 0xf7, 0x02]);
//!
//! for tensor in [&typed, &external] {
//!     assert_eq!(tensor.bytes(&files)?, [0xf7, 0x02].as_slice());
//!     let view = tensor.view::<I4>(&files)?;
//!     assert_eq!(view.get(1), I4::new(-1));
//!     assert_eq!(tensor.get_i64s(&files, 8)?, [7, -1, 2]);
//! }
//! // Nothing is read from outside without a source that allows it.
//! assert!(external.bytes(&NoData).is_err());
//! # Ok::<(), TensorError>(())
//! ```
//!
//! | elements in | [`Tensor::bytes`] and views |
//! |---|---|
//! | `raw_data`, `float_data`, `double_data` | share the bytes of the file |
//! | another file | what the [`DataSource`] gives, which may be a slice of a map |
//! | `int32_data`, `int64_data`, `uint64_data` | decode: at most 8 bytes for each byte on the wire |
//! | nowhere: elided from a text | are an error |
//! | a splat | a view keeps the one element; bytes are written out up to [`SPLAT_LIMIT`], or piece by piece by [`Tensor::chunks`] |
//!
//! No view assumes that the bytes are aligned.
//!
//! # What may be wrong
//!
//! A tensor can be invalid, because a file can be. This module never allocates memory based only on the dimensions:
//! they are compared with the available data. [`Tensor::faults`] reports structural defects without reading elements,
//! [`Tensor::content_faults`] reads them, and reading an invalid tensor is an error that carries the same
//! [`TensorFault`].
//!
//! ```
//! use onnx_types::ElemType;
//! use onnx_types::tensor::{NoData, Payload, Tensor};
//!
//! let bomb = Tensor::from_parts(ElemType::Float.code(), [1 << 40].as_slice().into(), Payload::None);
//! let error = bomb.bytes(&NoData).unwrap_err();
//! assert_eq!(error.to_string(), "tensor has 1099511627776 elements, but no data");
//! ```
//!
//! # Narrow numbers
//!
//! Rust has no 2-, 4-, 6- and 8-bit numbers of the kinds ONNX knows. [`I4`], [`F8E4M3Fn`] and similar types wrap one
//! code each and convert to and from `f32` and `f64` as the operator `Cast` does: to the nearest number, ties to even,
//! with its attribute `saturate` where that means something.
//!
//! ```
//! use onnx_types::tensor::{F4E2M1, F8E4M3Fn, F8E8M0, I4, PowerRounding};
//!
//! assert_eq!(F8E4M3Fn::from_f32(1.06, true).to_f32(), 1.0);
//! assert_eq!(F8E4M3Fn::from_f32(1e9, true), F8E4M3Fn::MAX);
//! assert!(F8E4M3Fn::from_f32(1e9, false).is_nan());
//! assert_eq!(F4E2M1::from_f32(2.5).to_f32(), 2.0);
//! assert_eq!(F8E8M0::from_f32(5.0, PowerRounding::Up, true).to_f32(), 8.0);
//! assert_eq!(I4::from_bits(0xf).get(), -1);
//! ```

mod check;
mod element;
mod external;
mod fault;
mod make;
mod meaning;
mod memory;
mod nan;
mod narrow;
mod packing;
mod payload;
mod proto;
mod read;
mod varints;
mod view;

#[cfg(test)]
mod tests;

pub use element::Element;
pub use external::{
    DataError, DataErrorReason, DataSource, ExternalData, ExternalFault, MemoryData, NoData, TensorMetadata,
    checked_range,
};
pub use fault::{TensorError, TensorFault};
pub use half::{bf16, f16};
pub use memory::{filled, require_memory, reserved};
pub use nan::any_nan;
pub use narrow::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4, PowerRounding, U2, U4,
};
pub use num_complex::Complex;
pub use payload::{Elided, Payload, Splat};
pub use proto::{Tensor, TensorDims, TensorExtra, TensorLayout, TensorSegment};
pub use read::{Chunks, SPLAT_LIMIT};
pub use varints::{VarintError, VarintIter, Varints};
pub use view::{NumberIter, TensorView, ViewIter};
