//! Detection of defects of tensors.

use std::ops::RangeInclusive;

use super::external::{DataSource, ExternalData};
use super::fault::{TensorError, TensorFault};
use super::packing;
use super::payload::{Payload, Splat};
use super::proto::Tensor;
use super::varints::Varints;
use crate::elem::ElemType;

impl Tensor {
    /// The number of elements: the product of the dimensions, 1 without dimensions. `None` if a dimension is negative, or
    /// the product, taken from the first dimension on, exceeds 2⁶³ - 1 before a zero ends it (as the reference has it).
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        if self.dims().iter().any(|&dim| dim < 0) {
            return None;
        }
        let product = self.dims().iter().try_fold(1_i64, |product, &dim| product.checked_mul(dim))?;
        u64::try_from(product).ok()
    }

    /// The number of bytes the elements take in canonical form, as `raw_data` has them. `None` for strings, undefined
    /// types and where [`Tensor::element_count`] is `None`.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        self.elem().byte_len(self.element_count()?)
    }

    /// The first structural fault, if there is one. Reads no element.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is structurally invalid; see [`Tensor::faults`] for all defects.
    pub fn validate(&self) -> Result<(), TensorFault> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// All structural faults: type, dimensions, and field and size of the data. Reads no element, and takes time in
    /// proportion to the number of dimensions.
    #[must_use]
    pub fn faults(&self) -> Vec<TensorFault> {
        let mut faults = Vec::new();
        let elem = ElemType::from_code(self.data_type());
        match elem {
            Some(ElemType::Undefined) => faults.push(TensorFault::NoType),
            None => faults.push(TensorFault::UnknownType { code: self.data_type() }),
            Some(_) => {}
        }
        let negative = self.dims().iter().enumerate().filter(|&(_, &dim)| dim < 0);
        faults.extend(negative.map(|(axis, &dim)| TensorFault::NegativeDim { axis, dim }));
        if let Payload::External(external) = self.payload() {
            faults.extend(external.faults().into_iter().map(TensorFault::External));
        }
        if !faults.is_empty() {
            return faults;
        }
        let sizes = self.element_count().and_then(|count| Sizes::of(self.elem(), count));
        match sizes {
            None => faults.push(TensorFault::TooManyElements),
            Some(sizes) => faults.extend(sizes.check(self.payload())),
        }
        faults
    }

    /// Up to `limit` faults of the content: entries out of range, Booleans other than 0 and 1, padding bits that are not
    /// zero, strings that are not UTF-8. Reads every element whose type can have such a fault, external ones from
    /// `source`.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is structurally invalid, or the source cannot read its data.
    pub fn content_faults(
        &self,
        source: &dyn DataSource,
        limit: usize,
    ) -> Result<Vec<TensorFault>, TensorError> {
        self.validate()?;
        let elem = self.elem();
        let count = self.element_count().unwrap_or(0);
        let field = self.payload().field_name();
        let faults = match self.payload() {
            Payload::None | Payload::Floats(_) | Payload::Doubles(_) | Payload::Int64s(_) => Vec::new(),
            Payload::Strings(strings) => {
                strings.iter().enumerate().filter_map(utf8_fault).take(limit).collect()
            }
            Payload::Int32s(entries) => int32_faults(entries, elem, count).take(limit).collect(),
            Payload::Uint64s(entries) => {
                let values = entries.iter().map(i128::from);
                range_faults(values, field, elem, uint64_range(elem)).take(limit).collect()
            }
            Payload::Splat(splat) => splat_fault(splat, elem).into_iter().take(limit).collect(),
            Payload::Raw(_) | Payload::External(_) if elem == ElemType::Bool || elem.is_packed() => {
                byte_faults(&self.bytes(source)?, elem, count).take(limit).collect()
            }
            Payload::Elided(_) => return Err(TensorError::Elided),
            Payload::Raw(_) | Payload::External(_) => Vec::new(),
        };
        Ok(faults)
    }
}

/// The size that type and number of elements imply.
struct Sizes {
    elem: ElemType,
    count: u64,
    /// The canonical bytes; 0 for strings.
    bytes: u64,
    /// The entries of the typed field.
    entries: u64,
}

impl Sizes {
    fn of(elem: ElemType, count: u64) -> Option<Self> {
        let bytes = if elem == ElemType::String { 0 } else { elem.byte_len(count)? };
        let entries = match elem {
            ElemType::Complex64 | ElemType::Complex128 => count.checked_mul(2)?,
            ElemType::Uint4 | ElemType::Int4 | ElemType::Float4E2M1 => count.div_ceil(2),
            ElemType::Uint2 | ElemType::Int2 => count.div_ceil(4),
            _ => count,
        };
        Some(Self { elem, count, bytes, entries })
    }

    fn check(&self, payload: &Payload) -> Option<TensorFault> {
        let field = payload.field_name();
        let wrong_field = || Some(TensorFault::WrongField { field, elem: self.elem });
        match payload {
            Payload::None if self.count == 0 => None,
            Payload::None => Some(TensorFault::NoData { elements: self.count }),
            // Nothing is known about them.
            Payload::Elided(_) => None,
            // A field that was written without contents says nothing, whichever it is.
            _ if self.count == 0 && is_empty(payload) => None,
            Payload::Raw(_) | Payload::External(_) | Payload::Splat(_) if self.elem == ElemType::String => {
                wrong_field()
            }
            Payload::Raw(bytes) => wrong_length(field, self.bytes, bytes.len() as u64),
            Payload::External(external) => self.check_external(external),
            Payload::Splat(splat) => wrong_length(field, self.elem.byte_len(1)?, splat.bytes().len() as u64),
            _ if payload.storage() != Some(self.elem.storage()) => wrong_field(),
            Payload::Floats(bytes) => self.check_fixed(field, bytes.len(), 4),
            Payload::Doubles(bytes) => self.check_fixed(field, bytes.len(), 8),
            Payload::Int32s(entries) | Payload::Int64s(entries) | Payload::Uint64s(entries) => {
                self.check_entries(field, entries.count())
            }
            Payload::Strings(strings) => self.check_entries(field, strings.len()),
        }
    }

    fn check_external(&self, external: &ExternalData) -> Option<TensorFault> {
        // Unreadable entries were reported before the sizes are compared.
        let length = external.length().ok().flatten()?;
        wrong_length("external_data", self.bytes, length)
    }

    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "callers give sizes of 4 and 8"))]
    fn check_fixed(&self, field: &'static str, len: usize, size: u64) -> Option<TensorFault> {
        if (len as u64).is_multiple_of(size) {
            return self.check_entries(field, len / size as usize);
        }
        wrong_length(field, self.bytes, len as u64)
    }

    fn check_entries(&self, field: &'static str, found: usize) -> Option<TensorFault> {
        let (expected, found) = (self.entries, found as u64);
        (expected != found).then_some(TensorFault::WrongCount { field, expected, found })
    }
}

fn wrong_length(field: &'static str, expected: u64, found: u64) -> Option<TensorFault> {
    (expected != found).then_some(TensorFault::WrongLength { field, expected, found })
}

fn is_empty(payload: &Payload) -> bool {
    match payload {
        Payload::Raw(bytes) | Payload::Floats(bytes) | Payload::Doubles(bytes) => bytes.is_empty(),
        Payload::Int32s(varints) | Payload::Int64s(varints) | Payload::Uint64s(varints) => varints.is_empty(),
        Payload::Strings(strings) => strings.is_empty(),
        Payload::None => true,
        Payload::External(_) | Payload::Splat(_) | Payload::Elided(_) => false,
    }
}

/// The entries of `int32_data` that hold something of type `elem`. Any byte is let through for a bool: it reads as true.
pub(super) fn int32_range(elem: ElemType) -> RangeInclusive<i128> {
    match elem {
        ElemType::Int8 => -0x80..=0x7f,
        ElemType::Int16 => -0x8000..=0x7fff,
        ElemType::Uint16 | ElemType::Float16 | ElemType::Bfloat16 => 0..=0xffff,
        ElemType::Float6E2M3 | ElemType::Float6E3M2 => 0..=0x3f,
        ElemType::Int32 => i128::from(i32::MIN)..=i128::from(i32::MAX),
        _ => 0..=0xff,
    }
}

/// The entries of `uint64_data` that hold something of type `elem`.
pub(super) fn uint64_range(elem: ElemType) -> RangeInclusive<i128> {
    0..=if elem == ElemType::Uint32 { i128::from(u32::MAX) } else { i128::from(u64::MAX) }
}

/// The values that are outside of `range`.
pub(super) fn range_faults(
    values: impl Iterator<Item = i128>,
    field: &'static str,
    elem: ElemType,
    range: RangeInclusive<i128>,
) -> impl Iterator<Item = TensorFault> {
    let outside = (0..).zip(values).filter(move |(_, value)| !range.contains(value));
    outside.map(move |(index, value)| TensorFault::OutOfRange { field, index, value, elem })
}

fn int32_faults(entries: &Varints, elem: ElemType, count: u64) -> impl Iterator<Item = TensorFault> {
    let range = if elem == ElemType::Bool { 0..=1 } else { int32_range(elem) };
    let values = entries.iter_i32().map(i128::from);
    // 6-bit codes have an entry each, so only whole bytes can have padding.
    let last = if elem.bits().is_some_and(|bits| bits <= 4) {
        entries.iter_i32().last().and_then(|last| padding_fault(last as u8, elem, count))
    } else {
        None
    };
    range_faults(values, "int32_data", elem, range).chain(last)
}

fn byte_faults(bytes: &[u8], elem: ElemType, count: u64) -> impl Iterator<Item = TensorFault> {
    let bools = if elem == ElemType::Bool { bytes } else { &[] };
    let bad_bools = (0..).zip(bools).filter(|&(_, &value)| value > 1);
    let padding = bytes.last().and_then(|&last| padding_fault(last, elem, count));
    bad_bools.map(|(index, &value)| TensorFault::NotBool { index, value }).chain(padding)
}

fn padding_fault(byte: u8, elem: ElemType, count: u64) -> Option<TensorFault> {
    let bits = elem.bits().filter(|&bits| bits < 8)?;
    (byte & packing::padding_mask(bits, count) != 0).then_some(TensorFault::Padding { byte })
}

#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a power of two less than 256 is at least 1")
)]
fn splat_fault(splat: &Splat, elem: ElemType) -> Option<TensorFault> {
    let &[byte] = splat.bytes() else { return None };
    let largest = match elem.bits() {
        Some(bits) if bits < 8 => (1 << bits) - 1,
        _ if elem == ElemType::Bool => 1,
        _ => return None,
    };
    let value = i128::from(byte);
    (byte > largest).then_some(TensorFault::OutOfRange { field: "splat", index: 0, value, elem })
}

fn utf8_fault((index, string): (usize, &bytes::Bytes)) -> Option<TensorFault> {
    let error = std::str::from_utf8(string).err()?;
    Some(TensorFault::NotUtf8 { index: index as u64, valid_up_to: error.valid_up_to() })
}
