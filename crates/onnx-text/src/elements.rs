//! Conventions of the printer and the parser for the data of tensors.

use std::ops::RangeInclusive;

use half::{bf16, f16};
use onnx_types::tensor::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, Payload, PowerRounding, Tensor,
    Varints,
};
use onnx_types::{ElemClass, ElemType};

/// The notation for the data of a tensor without the name of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plain {
    /// As the entries of the typed field that the element type prescribes.
    Entries,
    /// As elements of raw data.
    Elements,
    /// Not at all: something about them is not as it should be.
    No,
}

/// The notation that is possible for the data of a tensor; a fast test, except for entries that must be in range.
pub(crate) fn plain_form(tensor: &Tensor) -> Plain {
    let elem = tensor.elem();
    let Some(count) = tensor.element_count() else { return Plain::No };
    let fits = |found: usize| entry_count(elem, count) == Some(found as u64) && found > 0;
    let payload = tensor.payload();
    let is_entries = match payload {
        Payload::Raw(bytes) => {
            let whole = elem.bits().is_some()
                && elem.byte_len(count) == Some(bytes.len() as u64)
                && !bytes.is_empty()
                && has_clean_padding(elem, count, bytes);
            return if whole { Plain::Elements } else { Plain::No };
        }
        Payload::None | Payload::External(_) | Payload::Splat(_) | Payload::Elided(_) => false,
        _ if payload.storage() != Some(elem.storage()) => false,
        Payload::Floats(bytes) => bytes.len().is_multiple_of(4) && fits(bytes.len() / 4),
        Payload::Doubles(bytes) => bytes.len().is_multiple_of(8) && fits(bytes.len() / 8),
        Payload::Int32s(list) => {
            let range = int32_range(elem);
            fits(list.count())
                && is_canonical(payload)
                && list.iter_i32().all(|entry| range.contains(&i64::from(entry)))
        }
        Payload::Int64s(list) => fits(list.count()) && is_canonical(payload),
        Payload::Uint64s(list) => {
            let max = if elem == ElemType::Uint32 { u64::from(u32::MAX) } else { u64::MAX };
            fits(list.count()) && is_canonical(payload) && list.iter().all(|entry| entry <= max)
        }
        Payload::Strings(strings) => fits(strings.len()),
    };
    if is_entries { Plain::Entries } else { Plain::No }
}

/// Whether the bits after the last packed element are zero.
fn has_clean_padding(elem: ElemType, count: u64, bytes: &[u8]) -> bool {
    let Some(bits) = elem.bits().filter(|&bits| bits < 8) else { return true };
    // Only the remainder of the bits counts: eight codes fill whole bytes.
    let used = (count % 8).wrapping_mul(u64::from(bits)) % 8;
    used == 0 || bytes.last().is_none_or(|&last| last >> used == 0)
}

/// Returns `true` if the varints of a payload are canonically encoded.
pub(crate) fn is_canonical(payload: &Payload) -> bool {
    match payload {
        Payload::Int32s(list) => {
            // The canonical encoding of a 32-bit value is that of the same 64-bit value.
            let mut length = 0_usize;
            let fit = list.iter_i64().all(|value| {
                length = length.saturating_add(varint_len(value.cast_unsigned()));
                i32::try_from(value).is_ok()
            });
            fit && length == list.bytes().len()
        }
        Payload::Int64s(list) | Payload::Uint64s(list) => has_shortest_varints(list),
        _ => true,
    }
}

/// The 10th byte of a varint may hold bits beyond the 64th, which vanish in its value; so the bytes are compared.
fn has_shortest_varints(list: &Varints) -> bool {
    let length: usize = list.iter().map(varint_len).sum();
    length == list.bytes().len() && !has_lost_bits(list.bytes())
}

/// Whether a varint of ten bytes has more bits than a value.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a list has no varint of more than ten bytes")
)]
fn has_lost_bits(bytes: &[u8]) -> bool {
    let mut run = 0_u32;
    bytes.iter().any(|&byte| {
        run += 1;
        let lost = run == 10 && byte > 1;
        if byte & 0x80 == 0 {
            run = 0;
        }
        lost
    })
}

#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a number has at most as many leading zeros as bits")
)]
const fn varint_len(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// The number of entries of a typed field with `count` elements.
pub(crate) fn entry_count(elem: ElemType, count: u64) -> Option<u64> {
    match elem {
        ElemType::Complex64 | ElemType::Complex128 => count.checked_mul(2),
        ElemType::Uint4 | ElemType::Int4 | ElemType::Float4E2M1 => Some(count.div_ceil(2)),
        ElemType::Uint2 | ElemType::Int2 => Some(count.div_ceil(4)),
        _ => Some(count),
    }
}

/// The entries of `int32_data` that hold something of a type. Any byte is let through for a bool: it reads as true.
pub(crate) fn int32_range(elem: ElemType) -> RangeInclusive<i64> {
    match elem {
        ElemType::Int8 => -0x80..=0x7f,
        ElemType::Int16 => -0x8000..=0x7fff,
        ElemType::Uint16 | ElemType::Float16 | ElemType::Bfloat16 => 0..=0xffff,
        ElemType::Float6E2M3 | ElemType::Float6E3M2 => 0..=0x3f,
        ElemType::Int32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => 0..=0xff,
    }
}

/// Code number `index` of elements narrower than a byte, which follow each other without gap from the lowest bit on.
pub(crate) fn code_at(bytes: &[u8], bits: u32, index: usize) -> Option<u8> {
    let position = index.checked_mul(bits as usize)?;
    let at = position / 8;
    let low = u16::from(*bytes.get(at)?);
    let high = bytes.get(at.saturating_add(1)).map_or(0, |&byte| u16::from(byte));
    let mask = (0xff_u16 >> 8_u32.saturating_sub(bits)) as u8;
    Some(((low | high << 8) >> (position % 8)) as u8 & mask)
}

/// Puts codes narrower than a byte together, as raw data have them.
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "less than a byte is left over before each code of less than a byte"
    )
)]
pub(crate) fn pack(codes: &[u8], bits: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(codes.len().div_ceil(8).saturating_mul(bits as usize));
    let (mut word, mut filled) = (0_u32, 0_u32);
    for &code in codes {
        word |= u32::from(code) << filled;
        filled += bits;
        while filled >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        bytes.push(word as u8);
    }
    bytes
}

/// The smallest and the greatest integer that stands for one element of a type of at most 16 bits: its value for an
/// integer type, its bit pattern for a float type.
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "no type here has more than 32 bits"))]
pub(crate) fn element_bits(elem: ElemType) -> (i64, i64) {
    let bits = elem.bits().unwrap_or(0).min(32);
    if elem.class() == ElemClass::Int {
        let half = 1_i64 << bits.saturating_sub(1);
        (-half, half - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

/// The value of a code of a float type of at most 16 bits; `None` for other types.
pub(crate) fn narrow_value(elem: ElemType, code: u16) -> Option<f32> {
    let byte = code as u8;
    Some(match elem {
        ElemType::Float16 => f16::from_bits(code).to_f32(),
        ElemType::Bfloat16 => bf16::from_bits(code).to_f32(),
        ElemType::Float8E4M3Fn => F8E4M3Fn::from_bits(byte).to_f32(),
        ElemType::Float8E4M3Fnuz => F8E4M3Fnuz::from_bits(byte).to_f32(),
        ElemType::Float8E5M2 => F8E5M2::from_bits(byte).to_f32(),
        ElemType::Float8E5M2Fnuz => F8E5M2Fnuz::from_bits(byte).to_f32(),
        ElemType::Float8E8M0 => F8E8M0::from_bits(byte).to_f32(),
        ElemType::Float4E2M1 => F4E2M1::from_bits(byte).to_f32(),
        ElemType::Float6E2M3 => F6E2M3::from_bits(byte).to_f32(),
        ElemType::Float6E3M2 => F6E3M2::from_bits(byte).to_f32(),
        _ => return None,
    })
}

/// The code nearest to a value of a float type of at most 16 bits.
///
/// # Errors
///
/// Returns an error if the value is beyond the range of the type, or if the type cannot represent an infinity or NaN.
pub(crate) fn narrow_code(elem: ElemType, value: f32) -> Result<u16, ()> {
    let code = match elem {
        ElemType::Float16 => f16::from_f32(value).to_bits(),
        ElemType::Bfloat16 => bf16::from_f32(value).to_bits(),
        ElemType::Float8E4M3Fn => F8E4M3Fn::from_f32(value, false).to_bits().into(),
        ElemType::Float8E4M3Fnuz => F8E4M3Fnuz::from_f32(value, false).to_bits().into(),
        ElemType::Float8E5M2 => F8E5M2::from_f32(value, false).to_bits().into(),
        ElemType::Float8E5M2Fnuz => F8E5M2Fnuz::from_f32(value, false).to_bits().into(),
        ElemType::Float8E8M0 => F8E8M0::from_f32(value, PowerRounding::Nearest, false).to_bits().into(),
        ElemType::Float4E2M1 => F4E2M1::from_f32(value).to_bits().into(),
        ElemType::Float6E2M3 => F6E2M3::from_f32(value).to_bits().into(),
        ElemType::Float6E3M2 => F6E3M2::from_f32(value).to_bits().into(),
        _ => return Err(()),
    };
    let found = narrow_value(elem, code).ok_or(())?;
    let same = if value.is_finite() {
        // Some types give their largest number for all that is larger. It fits only what lies nearer to it than to the
        // number that would come next.
        let size = value.abs();
        let end = match elem {
            ElemType::Float4E2M1 => 7.0,
            ElemType::Float6E2M3 => 7.75,
            ElemType::Float6E3M2 => 30.0,
            _ => f32::INFINITY,
        };
        // What is rounded up to the smallest number is at least half as large.
        found.is_finite() && size < end && (found - value).abs() <= size
    } else {
        found.is_nan() == value.is_nan() && (value.is_nan() || found == value)
    };
    if same { Ok(code) } else { Err(()) }
}
