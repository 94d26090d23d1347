//! Reading the elements as bytes.

use bytes::{BufMut, Bytes, BytesMut};

use super::check::{int32_range, range_faults, uint64_range};
use super::external::{DataSource, ExternalData};
use super::fault::{TensorError, TensorFault};
use super::memory::require_memory;
use super::packing;
use super::payload::{Payload, Splat};
use super::proto::Tensor;
use super::varints::Varints;
use crate::elem::ElemType;

/// The most bytes that [`Tensor::bytes`] makes of a splat: 1 GiB. [`Tensor::chunks`] has no limit.
pub const SPLAT_LIMIT: u64 = 1 << 30;

/// The bytes of one piece of a splat; a multiple of all element sizes and of the three bytes of a group of 6-bit codes.
const CHUNK: usize = 3 << 14;

impl Tensor {
    /// The elements as little-endian bytes, those narrower than a byte packed: what `raw_data` would hold, whichever
    /// field does.
    ///
    /// Raw, external, `float_data` and `double_data` elements are not copied. Others are decoded into at most eight times
    /// their bytes on the wire; a splat is written out up to [`SPLAT_LIMIT`]. Padding bits are as the file has them.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid, holds strings, is too large a splat, or the source cannot read its
    /// data.
    pub fn bytes(&self, source: &dyn DataSource) -> Result<Bytes, TensorError> {
        let (elem, count) = self.fixed_width()?;
        if count == 0 {
            return Ok(Bytes::new());
        }
        let made = usize::try_from(self.byte_len().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        match self.payload() {
            Payload::Raw(bytes) | Payload::Floats(bytes) | Payload::Doubles(bytes) => Ok(bytes.clone()),
            Payload::Int32s(_) | Payload::Int64s(_) | Payload::Uint64s(_) => {
                require_memory::<u8>(made)?;
                self.decoded(elem)
            }
            Payload::External(external) => self.external_bytes(external, source),
            Payload::Splat(splat) => {
                let size = self.byte_len().unwrap_or(u64::MAX);
                if size > SPLAT_LIMIT {
                    return Err(TensorError::TooLarge { size, limit: SPLAT_LIMIT, unit: "bytes" });
                }
                require_memory::<u8>(made)?;
                let mut bytes = BytesMut::with_capacity(made);
                SplatChunks::new(splat, elem, count).for_each(|chunk| bytes.put(chunk));
                Ok(bytes.freeze())
            }
            Payload::Elided(_) => Err(TensorError::Elided),
            // Validated: tensors of fixed-width elements have no strings, and without data no elements.
            Payload::None | Payload::Strings(_) => Ok(Bytes::new()),
        }
    }

    /// The elements of a list of integers.
    fn decoded(&self, elem: ElemType) -> Result<Bytes, TensorError> {
        Ok(match self.payload() {
            Payload::Int32s(entries) => int32_bytes(entries, elem)?,
            Payload::Int64s(entries) => little_endian(entries.iter().map(u64::to_le_bytes)),
            Payload::Uint64s(entries) => uint64_bytes(entries, elem)?,
            _ => Bytes::new(),
        })
    }

    /// The bytes of [`Tensor::bytes`] in chunks whose memory does not grow with the tensor: for writing splats of any
    /// size. A tensor that is not a splat is one chunk.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::bytes`], without its limit.
    pub fn chunks(&self, source: &dyn DataSource) -> Result<Chunks, TensorError> {
        if let Payload::Splat(splat) = self.payload() {
            let (elem, count) = self.fixed_width()?;
            return Ok(Chunks(Pieces::Splat(SplatChunks::new(splat, elem, count))));
        }
        let bytes = self.bytes(source)?;
        Ok(Chunks(Pieces::One((!bytes.is_empty()).then_some(bytes))))
    }

    /// The tensor with its raw elements where the source [holds](DataSource::hold) what was made.
    #[must_use]
    pub fn held(mut self, source: &dyn DataSource) -> Self {
        if let Payload::Raw(bytes) = self.payload() {
            let held = source.hold(bytes.clone());
            self.set_payload(Payload::Raw(held));
        }
        self
    }

    /// The strings of a string tensor as bytes, which ought to be UTF-8.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid or holds no strings.
    pub fn string_bytes(&self) -> Result<&[Bytes], TensorError> {
        self.validate()?;
        let found = self.elem();
        match self.payload() {
            _ if found != ElemType::String => Err(TensorError::WrongType { wanted: "string", found }),
            Payload::Strings(strings) => Ok(strings),
            Payload::Elided(_) if self.element_count() != Some(0) => Err(TensorError::Elided),
            _ => Ok(&[]),
        }
    }

    /// The strings of a string tensor.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid or holds no strings. The iterator gives [`TensorFault::NotUtf8`] in
    /// place of a string that is not UTF-8.
    pub fn strings(&self) -> Result<impl ExactSizeIterator<Item = Result<&str, TensorFault>>, TensorError> {
        let strings = self.string_bytes()?.iter().enumerate();
        Ok(strings.map(|(index, string)| {
            std::str::from_utf8(string).map_err(|error| TensorFault::NotUtf8 {
                index: index as u64,
                valid_up_to: error.valid_up_to(),
            })
        }))
    }

    /// Type and number of the elements of a valid tensor that holds no strings.
    pub(super) fn fixed_width(&self) -> Result<(ElemType, u64), TensorError> {
        self.validate()?;
        let found = self.elem();
        if found == ElemType::String {
            return Err(TensorError::WrongType { wanted: "numbers", found });
        }
        Ok((found, self.element_count().ok_or(TensorFault::TooManyElements)?))
    }

    fn external_bytes(&self, external: &ExternalData, source: &dyn DataSource) -> Result<Bytes, TensorError> {
        let location = external.location().map_err(TensorFault::External)?;
        let offset = external.offset().map_err(TensorFault::External)?;
        let length = self.byte_len().ok_or(TensorFault::TooManyElements)?;
        Ok(super::meaning::read_exactly(source, location, offset, length)?)
    }
}

fn int32_bytes(entries: &Varints, elem: ElemType) -> Result<Bytes, TensorFault> {
    let values = || entries.iter_i32();
    let range = int32_range(elem);
    if let Some(fault) = range_faults(values().map(i128::from), "int32_data", elem, range).next() {
        return Err(fault);
    }
    if matches!(elem, ElemType::Float6E2M3 | ElemType::Float6E3M2) {
        return Ok(packing::pack(values().map(|code| code as u8), 6).into());
    }
    Ok(match elem.bits() {
        Some(32) => little_endian(values().map(i32::to_le_bytes)),
        Some(16) => little_endian(values().map(|value| (value as u16).to_le_bytes())),
        _ => little_endian(values().map(|value| [value as u8])),
    })
}

fn uint64_bytes(entries: &Varints, elem: ElemType) -> Result<Bytes, TensorFault> {
    let values = entries.iter().map(i128::from);
    if let Some(fault) = range_faults(values, "uint64_data", elem, uint64_range(elem)).next() {
        return Err(fault);
    }
    Ok(if elem == ElemType::Uint32 {
        little_endian(entries.iter().map(|value| (value as u32).to_le_bytes()))
    } else {
        little_endian(entries.iter().map(u64::to_le_bytes))
    })
}

/// The concatenation of the given arrays. Each corresponds to at least one byte on the wire, so the input bounds the
/// allocation.
fn little_endian<const N: usize>(elements: impl ExactSizeIterator<Item = [u8; N]>) -> Bytes {
    let mut bytes = vec![0; elements.len().saturating_mul(N)];
    for (chunk, element) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(elements) {
        *chunk = element;
    }
    bytes.into()
}

/// The bytes of a tensor in pieces; see [`Tensor::chunks`].
#[derive(Clone, Debug)]
pub struct Chunks(Pieces);

#[derive(Clone, Debug)]
enum Pieces {
    One(Option<Bytes>),
    Splat(SplatChunks),
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Pieces::One(bytes) => bytes.take(),
            Pieces::Splat(chunks) => chunks.next(),
        }
    }
}

/// One block of repeated elements, given out until all bytes are served.
#[derive(Clone, Debug)]
struct SplatChunks {
    block: Bytes,
    left: u64,
    /// The bits of the very last byte that belong to no element.
    padding: u8,
}

impl SplatChunks {
    fn new(splat: &Splat, elem: ElemType, count: u64) -> Self {
        let left = elem.byte_len(count).unwrap_or(0);
        let len = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let (unit, padding) = match (elem.bits(), splat.bytes()) {
            (Some(bits @ ..8), &[code]) => {
                (packing::pack([code; 8].into_iter(), bits), packing::padding_mask(bits, count))
            }
            (_, bytes) => (bytes.to_vec(), 0),
        };
        let block = unit.iter().copied().cycle().take(len).collect();
        Self { block, left, padding }
    }
}

impl Iterator for SplatChunks {
    type Item = Bytes;

    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a piece is no longer than what is left")
    )]
    fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let len = usize::try_from(self.left).unwrap_or(CHUNK).min(self.block.len());
        // A block is never empty while bytes are left; without this guard a mistake there would loop for ever.
        if len == 0 {
            self.left = 0;
            return None;
        }
        self.left -= len as u64;
        if self.left > 0 || self.padding == 0 {
            return Some(self.block.slice(..len));
        }
        let mut last = self.block.slice(..len).to_vec();
        if let Some(byte) = last.last_mut() {
            *byte &= !self.padding;
        }
        Some(last.into())
    }
}
