//! Equality and hash of tensors by their elements, however they are stored.

use std::hash::{Hash, Hasher};

use bytes::Bytes;

use super::external::{DataError, DataErrorReason};
use super::packing::padding_mask;
use super::{Chunks, DataSource, Payload, Tensor, TensorError, TensorFault};
use crate::ElemType;

/// Number of bytes of the elements that a hash reads.
const HASHED: usize = 256;
/// Number of bytes of the pieces in which external data is read.
const PIECE: u64 = 1 << 20;

impl Tensor {
    /// Whether two tensors of one model have the same element type, dimensions and elements, bit by bit. Where the elements
    /// are stored, the name, documentation and metadata do not count. A NaN is equal to a NaN of the same bits, and −0.0
    /// differs from 0.0.
    ///
    /// Returns `false` if elements cannot be read, unless both tensors name the same range of the same file.
    ///
    /// ```
    /// use onnx_types::tensor::{NoData, Tensor, TensorFault};
    ///
    /// let ones = Tensor::from_slice([2], &[1.0_f32, 1.0])?;
    /// assert!(ones.same_meaning(&Tensor::splat([2], 1.0_f32)?, &NoData));
    /// let nan = Tensor::scalar(f32::NAN);
    /// assert!(nan.same_meaning(&nan, &NoData));
    /// assert!(!Tensor::scalar(0.0_f32).same_meaning(&Tensor::scalar(-0.0_f32), &NoData));
    /// # Ok::<(), TensorFault>(())
    /// ```
    #[must_use]
    pub fn same_meaning(&self, other: &Self, source: &dyn DataSource) -> bool {
        if !self.same_kind(other) {
            return false;
        }
        // A NaN in a list of floats makes the payloads unequal, so inequality says nothing.
        let is_same_file = |a: &Payload, b: &Payload| matches!(a, Payload::External(_)) && a == b;
        is_same_file(self.payload(), other.payload())
            || self.same_elements(source, other, source) == Some(true)
    }

    /// Like [`same_meaning`](Self::same_meaning), for tensors of two models with separate external data; `None` if
    /// elements cannot be read.
    #[must_use]
    pub fn same_meaning_across(
        &self,
        source: &dyn DataSource,
        other: &Self,
        other_source: &dyn DataSource,
    ) -> Option<bool> {
        if self.same_kind(other) { self.same_elements(source, other, other_source) } else { Some(false) }
    }

    /// Feeds a hash that tensors of the same meaning share. It feeds at most a few hundred bytes of the
    /// elements; `source` must be the one that the tensors are compared with.
    pub fn hash_meaning(&self, source: &dyn DataSource, state: &mut impl Hasher) {
        self.data_type().hash(state);
        self.dims().hash(state);
        if self.elem() == ElemType::String {
            self.string_bytes().unwrap_or_default().iter().take(4).for_each(|text| text.hash(state));
        } else if let Ok(mut chunks) = self.chunks(source)
            && let Some(first) = chunks.next()
        {
            // The last byte may hold bits of no element. The first piece of a splat is at least as long as what is hashed, or
            // the whole tensor.
            let whole = first.len().saturating_sub(1).min(HASHED);
            first.get(..whole).unwrap_or_default().hash(state);
        }
    }

    /// Calls `visit` with the elements as little-endian bytes in pieces, those narrower than a byte packed and the bits of the
    /// last byte that belong to no element zero: tensors of one type have the same bytes exactly if they have the same elements,
    /// wherever these are stored. External data is read in pieces, so memory does not grow with the tensor. Each string is two
    /// pieces: its length as 8 bytes, and its bytes.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::chunks`], and errors of `visit`.
    pub fn visit_bytes<E: From<TensorError>>(
        &self,
        source: &dyn DataSource,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.elem() == ElemType::String {
            return self.string_bytes()?.iter().try_for_each(|text| {
                visit(&(text.len() as u64).to_le_bytes())?;
                visit(text)
            });
        }
        let (elem, count) = self.fixed_width()?;
        let padding = elem.bits().filter(|bits| *bits < 8).map_or(0, |bits| padding_mask(bits, count));
        let length = self.byte_len().ok_or(TensorError::from(TensorFault::TooManyElements))?;
        let mut done = 0_u64;
        let mut give = |bytes: &[u8]| {
            bytes.chunks(PIECE as usize).try_for_each(|piece| {
                done = done.saturating_add(piece.len() as u64);
                match piece.split_last() {
                    Some((last, rest)) if done == length && last & padding != 0 => {
                        visit(rest)?;
                        visit(&[last & !padding])
                    }
                    _ => visit(piece),
                }
            })
        };
        match self.payload() {
            Payload::External(external) if length > PIECE => {
                let location =
                    external.location().map_err(|fault| TensorError::from(TensorFault::External(fault)))?;
                let start =
                    external.offset().map_err(|fault| TensorError::from(TensorFault::External(fault)))?;
                let error = |error: DataError| E::from(TensorError::from(error));
                source.admit(location, length).map_err(error)?;
                let mut at = 0;
                while at < length {
                    let step = PIECE.min(length.saturating_sub(at));
                    let piece =
                        read_exactly(source, location, start.saturating_add(at), step).map_err(error)?;
                    give(&piece)?;
                    at = at.saturating_add(step);
                }
                Ok(())
            }
            _ => self.chunks(source)?.try_for_each(|chunk| give(&chunk)),
        }
    }

    fn same_kind(&self, other: &Self) -> bool {
        self.data_type() == other.data_type() && self.dims() == other.dims()
    }

    fn same_elements(
        &self,
        source: &dyn DataSource,
        other: &Self,
        other_source: &dyn DataSource,
    ) -> Option<bool> {
        if self.elem() == ElemType::String {
            return Some(self.string_bytes().ok()? == other.string_bytes().ok()?);
        }
        let padding = match self.elem().bits() {
            Some(bits @ ..8) => padding_mask(bits, self.element_count()?),
            _ => 0,
        };
        Some(same_bytes(self.chunks(source).ok()?, other.chunks(other_source).ok()?, padding))
    }
}

/// Reads a range of a file; a source that gives another number of bytes is an error.
pub(super) fn read_exactly(
    source: &dyn DataSource,
    location: &str,
    offset: u64,
    length: u64,
) -> Result<Bytes, DataError> {
    let bytes = source.read(location, offset, Some(length))?;
    let found = bytes.len() as u64;
    if found != length {
        let reason = DataErrorReason::ShortRead { found };
        return Err(DataError { location: location.to_owned(), offset, length: Some(length), reason });
    }
    Ok(bytes)
}

/// Returns `true` if two sequences of chunks contain the same bytes, except for the `padding` bits of the last byte.
fn same_bytes(mut a: Chunks, mut b: Chunks, padding: u8) -> bool {
    let (mut left, mut right) = (Bytes::new(), Bytes::new());
    loop {
        for (open, pieces) in [(&mut left, &mut a), (&mut right, &mut b)] {
            if open.is_empty() {
                *open = pieces.next().unwrap_or_default();
            }
        }
        let length = left.len().min(right.len());
        if length == 0 {
            return left.is_empty() && right.is_empty();
        }
        let (one, two) = (left.split_to(length), right.split_to(length));
        if one != two {
            let (Some((a_last, a_rest)), Some((b_last, b_rest))) = (one.split_last(), two.split_last())
            else {
                return false;
            };
            let is_end = left.is_empty() && right.is_empty() && a.next().is_none() && b.next().is_none();
            return is_end && a_rest == b_rest && (a_last ^ b_last) & !padding == 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;
    use crate::tensor::{ExternalData, I4, MemoryData, NoData, Varints, f16};

    fn hash(tensor: &Tensor, source: &dyn DataSource) -> u64 {
        let mut hasher = DefaultHasher::new();
        tensor.hash_meaning(source, &mut hasher);
        hasher.finish()
    }

    #[track_caller]
    fn check(a: &Tensor, b: &Tensor, source: &dyn DataSource, expected: bool) {
        assert_eq!(a.same_meaning(b, source), expected);
        assert_eq!(b.same_meaning(a, source), expected);
        if expected {
            assert_eq!(hash(a, source), hash(b, source));
        }
    }

    #[test]
    fn storage_does_not_count() {
        let raw = Tensor::from_slice([3], &[1_i32, -2, 3]).unwrap();
        let typed = Tensor::from_parts(
            ElemType::Int32.code(),
            [3].as_slice().into(),
            Payload::Int32s(Varints::from_i32s([1, -2, 3])),
        );
        let external = Tensor::external(ElemType::Int32, [3], ExternalData::new("w").with_offset(1)).unwrap();
        let mut files = MemoryData::new();
        files.insert("w", [&[9], &*raw.bytes(&NoData).unwrap()].concat());
        for (a, b) in [(&raw, &typed), (&raw, &external), (&typed, &external)] {
            check(a, b, &files, true);
        }
        // Unreadable: the same only as itself.
        check(&external, &external, &NoData, true);
        check(&external, &raw, &NoData, false);
        assert_eq!(external.same_meaning_across(&NoData, &external, &NoData), None);
    }

    #[test]
    fn type_dimensions_and_bits_count() {
        let a = Tensor::from_slice([2], &[1.0_f32, f32::NAN]).unwrap();
        check(&a, &a.clone(), &NoData, true);
        check(&a, &Tensor::from_slice([2, 1], &[1.0_f32, f32::NAN]).unwrap(), &NoData, false);
        check(&Tensor::scalar(0_i32), &Tensor::scalar(0.0_f32), &NoData, false);
        check(&Tensor::scalar(0.0_f32), &Tensor::scalar(-0.0_f32), &NoData, false);
        check(&Tensor::scalar(f16::ONE), &Tensor::scalar(f16::ONE), &NoData, true);
        let mut named = a.clone();
        named.set_name("w");
        named.set_doc("weights");
        check(&a, &named, &NoData, true);
    }

    #[test]
    fn padding_does_not_count_and_splats_are_written_out() {
        let of = |last: u8| Tensor::from_raw(ElemType::Int4, [3], vec![0x11, last]).unwrap();
        check(&of(0x01), &of(0xf1), &NoData, true);
        check(&of(0x01), &of(0x02), &NoData, false);
        check(&of(0x01), &Tensor::splat([3], I4::new(1).unwrap()).unwrap(), &NoData, true);
        let large = |value: f32| Tensor::splat([1 << 20, 8], value).unwrap();
        check(&large(1.0), &large(1.0), &NoData, true);
        check(&large(1.0), &large(2.0), &NoData, false);
        let empty = |dims: [i64; 2]| Tensor::splat(dims, 1.0_f32).unwrap();
        check(&empty([0, 2]), &Tensor::from_slice([0, 2], &[] as &[f32]).unwrap(), &NoData, true);
    }

    #[test]
    fn strings_count_as_they_are() {
        let of = |texts: [&str; 2]| Tensor::from_strings([2], texts).unwrap();
        check(&of(["a", "b"]), &of(["a", "b"]), &NoData, true);
        check(&of(["a", "b"]), &of(["a", "c"]), &NoData, false);
    }
}
