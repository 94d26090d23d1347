//! The Rust types of elements.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;

use super::narrow::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4, U2, U4,
};
use super::packing;
use crate::elem::ElemType;

/// A Rust type that elements of a tensor can be read and written as.
///
/// It is implemented for the native numbers and `bool`, `f16` and `bf16`, complex numbers, and the narrow types of this
/// module, and is sealed. Strings are not elements in this sense: see [`Tensor::strings`].
///
/// [`Tensor::strings`]: super::Tensor::strings
pub trait Element: Copy + PartialEq + fmt::Debug + Send + Sync + sealed::Codec + 'static {
    /// The element type it stands for.
    const TYPE: ElemType;
}

/// A real number that converts to the widest native ones.
pub(super) trait Number: Element {
    fn to_f64(self) -> f64;

    /// The integer; `None` if it does not fit. Integer types and `bool` only, others never fit.
    fn to_i64(self) -> Option<i64>;
}

pub(super) mod sealed {
    /// Encoding of elements in raw data.
    pub trait Codec: Sized {
        /// Element number `index` of canonical bytes; `None` beyond the end.
        fn read(bytes: &[u8], index: usize) -> Option<Self>;
        /// The first `len` elements of canonical bytes, or fewer if the bytes end earlier.
        fn read_all(bytes: &[u8], len: usize) -> Vec<Self>;
        /// The canonical bytes of the elements.
        fn write_all(elements: &[Self]) -> Vec<u8>;
        /// The elements in place, if the bytes are these elements in memory: for native numbers, if the machine is
        /// little-endian and the bytes are aligned.
        fn in_place(_bytes: &[u8]) -> Option<&[Self]> {
            None
        }
    }
}

/// Types that take whole bytes: how to make one of an array of bytes and back.
macro_rules! bytewise {
    ($($type:ty = $elem:ident, $size:literal, $from:expr, $to:expr $(, $in_place:ident)?;)*) => { $(
        impl Element for $type {
            const TYPE: ElemType = ElemType::$elem;
        }

        impl sealed::Codec for $type {
            #[inline]
            fn read(bytes: &[u8], index: usize) -> Option<Self> {
                let begin = index.checked_mul($size)?;
                bytes.get(begin..)?.first_chunk::<$size>().map(|chunk| $from(*chunk))
            }

            fn read_all(bytes: &[u8], len: usize) -> Vec<Self> {
                bytes.as_chunks::<$size>().0.iter().take(len).map(|chunk| $from(*chunk)).collect()
            }

            fn write_all(elements: &[Self]) -> Vec<u8> {
                let mut bytes = vec![0; elements.len() * $size];
                for (chunk, &element) in bytes.as_chunks_mut::<$size>().0.iter_mut().zip(elements) {
                    *chunk = $to(element);
                }
                bytes
            }

            $(
                fn in_place(bytes: &[u8]) -> Option<&[Self]> {
                    $in_place(bytes)
                }
            )?
        }
    )* };
}

bytewise! {
    f32 = Float, 4, Self::from_le_bytes, Self::to_le_bytes, native;
    f64 = Double, 8, Self::from_le_bytes, Self::to_le_bytes, native;
    i8 = Int8, 1, Self::from_le_bytes, Self::to_le_bytes, native;
    i16 = Int16, 2, Self::from_le_bytes, Self::to_le_bytes, native;
    i32 = Int32, 4, Self::from_le_bytes, Self::to_le_bytes, native;
    i64 = Int64, 8, Self::from_le_bytes, Self::to_le_bytes, native;
    u8 = Uint8, 1, Self::from_le_bytes, Self::to_le_bytes, native;
    u16 = Uint16, 2, Self::from_le_bytes, Self::to_le_bytes, native;
    u32 = Uint32, 4, Self::from_le_bytes, Self::to_le_bytes, native;
    u64 = Uint64, 8, Self::from_le_bytes, Self::to_le_bytes, native;
    bool = Bool, 1, |byte: [u8; 1]| byte != [0], |value| [u8::from(value)];
    f16 = Float16, 2, Self::from_le_bytes, Self::to_le_bytes;
    bf16 = Bfloat16, 2, Self::from_le_bytes, Self::to_le_bytes;
    Complex<f32> = Complex64, 8, complex64, complex64_bytes;
    Complex<f64> = Complex128, 16, complex128, complex128_bytes;
    F8E4M3Fn = Float8E4M3Fn, 1, |[code]: [u8; 1]| Self::from_bits(code), |value: Self| [value.to_bits()];
    F8E4M3Fnuz = Float8E4M3Fnuz, 1, |[code]: [u8; 1]| Self::from_bits(code), |value: Self| [value.to_bits()];
    F8E5M2 = Float8E5M2, 1, |[code]: [u8; 1]| Self::from_bits(code), |value: Self| [value.to_bits()];
    F8E5M2Fnuz = Float8E5M2Fnuz, 1, |[code]: [u8; 1]| Self::from_bits(code), |value: Self| [value.to_bits()];
    F8E8M0 = Float8E8M0, 1, |[code]: [u8; 1]| Self::from_bits(code), |value: Self| [value.to_bits()];
}

/// Bytes as native numbers: any bits are one.
fn native<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Option<&[T]> {
    if cfg!(target_endian = "little") { bytemuck::try_cast_slice(bytes).ok() } else { None }
}

fn complex64(bytes: [u8; 8]) -> Complex<f32> {
    let both = u64::from_le_bytes(bytes);
    Complex::new(f32::from_bits(both as u32), f32::from_bits((both >> 32) as u32))
}

fn complex64_bytes(value: Complex<f32>) -> [u8; 8] {
    (u64::from(value.im.to_bits()) << 32 | u64::from(value.re.to_bits())).to_le_bytes()
}

fn complex128(bytes: [u8; 16]) -> Complex<f64> {
    let both = u128::from_le_bytes(bytes);
    Complex::new(f64::from_bits(both as u64), f64::from_bits((both >> 64) as u64))
}

fn complex128_bytes(value: Complex<f64>) -> [u8; 16] {
    (u128::from(value.im.to_bits()) << 64 | u128::from(value.re.to_bits())).to_le_bytes()
}

/// Types narrower than a byte: their width.
macro_rules! packed {
    ($($type:ident = $elem:ident, $bits:literal;)*) => { $(
        impl Element for $type {
            const TYPE: ElemType = ElemType::$elem;
        }

        impl sealed::Codec for $type {
            #[inline]
            fn read(bytes: &[u8], index: usize) -> Option<Self> {
                packing::code_at(bytes, $bits, index).map(Self::from_bits)
            }

            fn read_all(bytes: &[u8], len: usize) -> Vec<Self> {
                (0..len).map_while(|index| Self::read(bytes, index)).collect()
            }

            fn write_all(elements: &[Self]) -> Vec<u8> {
                packing::pack(elements.iter().map(|element| element.to_bits()), $bits)
            }
        }
    )* };
}

packed! {
    U4 = Uint4, 4;
    I4 = Int4, 4;
    F4E2M1 = Float4E2M1, 4;
    U2 = Uint2, 2;
    I2 = Int2, 2;
    F6E2M3 = Float6E2M3, 6;
    F6E3M2 = Float6E3M2, 6;
}

macro_rules! number {
    ($($type:ty: $value:ident => $f64:expr, $i64:expr;)*) => { $(
        impl Number for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                let $value = self;
                $f64
            }

            fn to_i64(self) -> Option<i64> {
                let $value = self;
                let _ = $value;
                $i64
            }
        }
    )* };
}

number! {
    f32: v => f64::from(v), None;
    f64: v => v, None;
    f16: v => v.to_f64(), None;
    bf16: v => v.to_f64(), None;
    F8E4M3Fn: v => v.to_f64(), None;
    F8E4M3Fnuz: v => v.to_f64(), None;
    F8E5M2: v => v.to_f64(), None;
    F8E5M2Fnuz: v => v.to_f64(), None;
    F8E8M0: v => v.to_f64(), None;
    F4E2M1: v => v.to_f64(), None;
    F6E2M3: v => v.to_f64(), None;
    F6E3M2: v => v.to_f64(), None;
    i8: v => f64::from(v), Some(i64::from(v));
    i16: v => f64::from(v), Some(i64::from(v));
    i32: v => f64::from(v), Some(i64::from(v));
    i64: v => v as f64, Some(v);
    u8: v => f64::from(v), Some(i64::from(v));
    u16: v => f64::from(v), Some(i64::from(v));
    u32: v => f64::from(v), Some(i64::from(v));
    u64: v => v as f64, i64::try_from(v).ok();
    bool: v => f64::from(u8::from(v)), Some(i64::from(v));
    U4: v => f64::from(v.get()), Some(i64::from(v.get()));
    I4: v => f64::from(v.get()), Some(i64::from(v.get()));
    U2: v => f64::from(v.get()), Some(i64::from(v.get()));
    I2: v => f64::from(v.get()), Some(i64::from(v.get()));
}

/// Evaluates to `$call::<T>(args)` with the Rust type of the real number type `$elem`, wrapped in `Some`; `None` for
/// complex numbers, strings and the undefined type.
macro_rules! for_number {
    ($elem:expr, $T:ident => $body:expr) => {{
        use crate::elem::ElemType as E;
        use crate::tensor::narrow as n;
        macro_rules! with {
            ($type:ty) => {{
                type $T = $type;
                Some($body)
            }};
        }
        match $elem {
            E::Float => with!(f32),
            E::Uint8 => with!(u8),
            E::Int8 => with!(i8),
            E::Uint16 => with!(u16),
            E::Int16 => with!(i16),
            E::Int32 => with!(i32),
            E::Int64 => with!(i64),
            E::Bool => with!(bool),
            E::Float16 => with!(half::f16),
            E::Double => with!(f64),
            E::Uint32 => with!(u32),
            E::Uint64 => with!(u64),
            E::Bfloat16 => with!(half::bf16),
            E::Float8E4M3Fn => with!(n::F8E4M3Fn),
            E::Float8E4M3Fnuz => with!(n::F8E4M3Fnuz),
            E::Float8E5M2 => with!(n::F8E5M2),
            E::Float8E5M2Fnuz => with!(n::F8E5M2Fnuz),
            E::Uint4 => with!(n::U4),
            E::Int4 => with!(n::I4),
            E::Float4E2M1 => with!(n::F4E2M1),
            E::Float8E8M0 => with!(n::F8E8M0),
            E::Uint2 => with!(n::U2),
            E::Int2 => with!(n::I2),
            E::Float6E2M3 => with!(n::F6E2M3),
            E::Float6E3M2 => with!(n::F6E3M2),
            E::Complex64 | E::Complex128 | E::String | E::Undefined => None,
        }
    }};
}
pub(super) use for_number;
