//! Element types of tensors.

use std::fmt;
use std::str::FromStr;

/// The type of the elements of a tensor (enumeration `TensorProto.DataType`; specification, "Tensor element types").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
#[non_exhaustive]
pub enum ElemType {
    /// No type: the default of the enumeration, never that of a valid tensor.
    #[default]
    Undefined = 0,
    /// IEEE 754 binary32.
    Float = 1,
    /// Unsigned 8-bit integer.
    Uint8 = 2,
    /// Signed 8-bit integer.
    Int8 = 3,
    /// Unsigned 16-bit integer.
    Uint16 = 4,
    /// Signed 16-bit integer.
    Int16 = 5,
    /// Signed 32-bit integer.
    Int32 = 6,
    /// Signed 64-bit integer.
    Int64 = 7,
    /// UTF-8 text of any length.
    String = 8,
    /// Truth value, one byte of 0 or 1.
    Bool = 9,
    /// IEEE 754 binary16.
    Float16 = 10,
    /// IEEE 754 binary64.
    Double = 11,
    /// Unsigned 32-bit integer.
    Uint32 = 12,
    /// Unsigned 64-bit integer.
    Uint64 = 13,
    /// Complex number of two binary32.
    Complex64 = 14,
    /// Complex number of two binary64.
    Complex128 = 15,
    /// The upper half of a binary32: 8 exponent bits, 7 fraction bits.
    Bfloat16 = 16,
    /// 8-bit float, 4 exponent and 3 fraction bits, finite, with NaN.
    Float8E4M3Fn = 17,
    /// 8-bit float, 4 exponent and 3 fraction bits, finite, with NaN, without negative zero.
    Float8E4M3Fnuz = 18,
    /// 8-bit float, 5 exponent and 2 fraction bits, with infinities and NaN.
    Float8E5M2 = 19,
    /// 8-bit float, 5 exponent and 2 fraction bits, finite, with NaN, without negative zero.
    Float8E5M2Fnuz = 20,
    /// Unsigned 4-bit integer, two in a byte.
    Uint4 = 21,
    /// Signed 4-bit integer, two in a byte.
    Int4 = 22,
    /// 4-bit float, 2 exponent bits and 1 fraction bit, two in a byte.
    Float4E2M1 = 23,
    /// 8-bit power of two: an exponent without sign and fraction, with NaN.
    Float8E8M0 = 24,
    /// Unsigned 2-bit integer, four in a byte.
    Uint2 = 25,
    /// Signed 2-bit integer, four in a byte.
    Int2 = 26,
    /// 6-bit float, 2 exponent and 3 fraction bits, four in three bytes.
    Float6E2M3 = 27,
    /// 6-bit float, 3 exponent and 2 fraction bits, four in three bytes.
    Float6E3M2 = 28,
}

/// The class of the elements, independent of their width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElemClass {
    /// No elements: the type is undefined.
    None,
    /// Floating-point numbers of any format.
    Float,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    Uint,
    /// Truth values.
    Bool,
    /// Complex numbers.
    Complex,
    /// Text.
    String,
}

/// Which typed field of `TensorProto` holds the elements when `raw_data` does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// No field: the type is undefined.
    None,
    /// `float_data`; complex numbers as real part, imaginary part.
    Float,
    /// `int32_data`; one entry holds one element (its bit pattern for floats), two 4-bit or four 2-bit ones.
    Int32,
    /// `int64_data`.
    Int64,
    /// `double_data`; complex numbers as real part, imaginary part.
    Double,
    /// `uint64_data`.
    Uint64,
    /// `string_data`.
    String,
}

struct Facts {
    elem: ElemType,
    name: &'static str,
    proto_name: &'static str,
    numpy_name: &'static str,
    bits: Option<u32>,
    class: ElemClass,
    storage: Storage,
}

const fn row(
    elem: ElemType,
    name: &'static str,
    proto_name: &'static str,
    numpy_name: &'static str,
    bits: u32,
    class: ElemClass,
    storage: Storage,
) -> Facts {
    let bits = if bits == 0 { None } else { Some(bits) };
    Facts { elem, name, proto_name, numpy_name, bits, class, storage }
}

static FACTS: [Facts; 29] = {
    use {ElemClass as C, ElemType as E, Storage as S};
    [
        row(E::Undefined, "undefined", "UNDEFINED", "", 0, C::None, S::None),
        row(E::Float, "float", "FLOAT", "float32", 32, C::Float, S::Float),
        row(E::Uint8, "uint8", "UINT8", "uint8", 8, C::Uint, S::Int32),
        row(E::Int8, "int8", "INT8", "int8", 8, C::Int, S::Int32),
        row(E::Uint16, "uint16", "UINT16", "uint16", 16, C::Uint, S::Int32),
        row(E::Int16, "int16", "INT16", "int16", 16, C::Int, S::Int32),
        row(E::Int32, "int32", "INT32", "int32", 32, C::Int, S::Int32),
        row(E::Int64, "int64", "INT64", "int64", 64, C::Int, S::Int64),
        row(E::String, "string", "STRING", "object", 0, C::String, S::String),
        row(E::Bool, "bool", "BOOL", "bool", 8, C::Bool, S::Int32),
        row(E::Float16, "float16", "FLOAT16", "float16", 16, C::Float, S::Int32),
        row(E::Double, "double", "DOUBLE", "float64", 64, C::Float, S::Double),
        row(E::Uint32, "uint32", "UINT32", "uint32", 32, C::Uint, S::Uint64),
        row(E::Uint64, "uint64", "UINT64", "uint64", 64, C::Uint, S::Uint64),
        row(E::Complex64, "complex64", "COMPLEX64", "complex64", 64, C::Complex, S::Float),
        row(E::Complex128, "complex128", "COMPLEX128", "complex128", 128, C::Complex, S::Double),
        row(E::Bfloat16, "bfloat16", "BFLOAT16", "bfloat16", 16, C::Float, S::Int32),
        row(E::Float8E4M3Fn, "float8e4m3fn", "FLOAT8E4M3FN", "float8_e4m3fn", 8, C::Float, S::Int32),
        row(E::Float8E4M3Fnuz, "float8e4m3fnuz", "FLOAT8E4M3FNUZ", "float8_e4m3fnuz", 8, C::Float, S::Int32),
        row(E::Float8E5M2, "float8e5m2", "FLOAT8E5M2", "float8_e5m2", 8, C::Float, S::Int32),
        row(E::Float8E5M2Fnuz, "float8e5m2fnuz", "FLOAT8E5M2FNUZ", "float8_e5m2fnuz", 8, C::Float, S::Int32),
        row(E::Uint4, "uint4", "UINT4", "uint4", 4, C::Uint, S::Int32),
        row(E::Int4, "int4", "INT4", "int4", 4, C::Int, S::Int32),
        row(E::Float4E2M1, "float4e2m1", "FLOAT4E2M1", "float4_e2m1fn", 4, C::Float, S::Int32),
        row(E::Float8E8M0, "float8e8m0", "FLOAT8E8M0", "float8_e8m0fnu", 8, C::Float, S::Int32),
        row(E::Uint2, "uint2", "UINT2", "uint2", 2, C::Uint, S::Int32),
        row(E::Int2, "int2", "INT2", "int2", 2, C::Int, S::Int32),
        row(E::Float6E2M3, "float6e2m3", "FLOAT6E2M3", "float6_e2m3fn", 6, C::Float, S::Int32),
        row(E::Float6E3M2, "float6e3m2", "FLOAT6E3M2", "float6_e3m2fn", 6, C::Float, S::Int32),
    ]
};

impl ElemType {
    /// All types in the order of their codes, [`ElemType::Undefined`] first.
    pub fn all() -> impl Iterator<Item = Self> {
        FACTS.iter().map(|facts| facts.elem)
    }

    #[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "the table has a row for every type"))]
    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The number that files use.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The type that a file's number stands for, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        usize::try_from(code).ok().and_then(|index| FACTS.get(index)).map(|facts| facts.elem)
    }

    /// The name in type strings and in ONNX text, such as `float16` or `uint4`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in `TensorProto.DataType`, such as `FLOAT16`.
    #[must_use]
    pub fn proto_name(self) -> &'static str {
        self.facts().proto_name
    }

    /// The name of the NumPy (or `ml_dtypes`) type, such as `float32`; empty for the undefined type.
    #[must_use]
    pub fn numpy_name(self) -> &'static str {
        self.facts().numpy_name
    }

    /// The bits of one element; `None` for strings and the undefined type.
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        self.facts().bits
    }

    /// The class of the elements.
    #[must_use]
    pub fn class(self) -> ElemClass {
        self.facts().class
    }

    /// The typed field that can hold the elements.
    #[must_use]
    pub fn storage(self) -> Storage {
        self.facts().storage
    }

    /// The bytes that `count` elements take in raw data: elements narrower than a byte are packed, and the last byte is
    /// padded. `None` for types of no fixed width, and where the number does not fit.
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a type has at most 128 bits, so 71 bits hold the product"
        )
    )]
    pub fn byte_len(self, count: u64) -> Option<u64> {
        let bits = u128::from(self.bits()?) * u128::from(count);
        u64::try_from(bits.div_ceil(8)).ok()
    }

    /// Whether elements are narrower than a byte and therefore packed.
    #[must_use]
    pub fn is_packed(self) -> bool {
        self.bits().is_some_and(|bits| bits < 8)
    }

    /// Whether the elements are integers, signed or not.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self.class(), ElemClass::Int | ElemClass::Uint)
    }

    /// Whether the elements are floating-point numbers of any format.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.class() == ElemClass::Float
    }

    /// The greatest finite number of a float type of 16 bits or more, of which the least one is the negative. `None` for
    /// other types.
    #[must_use]
    pub const fn greatest_finite(self) -> Option<f64> {
        match self {
            Self::Bfloat16 => Some(3.389_531_389_251_535_5e38),
            Self::Float16 => Some(65_504.0),
            Self::Float => Some(3.402_823_466_385_288_6e38),
            Self::Double => Some(f64::MAX),
            _ => None,
        }
    }

    /// The type with the given name in any of the notations in use: `float16`, `FLOAT16`, `half`, `f16`,
    /// `float8_e4m3fn`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let known = |facts: &&Facts| {
            facts.name == name || facts.proto_name == name || (!name.is_empty() && facts.numpy_name == name)
        };
        if let Some(facts) = FACTS.iter().find(known) {
            return Some(facts.elem);
        }
        Some(match name {
            "float32" | "f32" => Self::Float,
            "float64" | "f64" => Self::Double,
            "half" | "f16" => Self::Float16,
            "bf16" => Self::Bfloat16,
            "i8" => Self::Int8,
            "i16" => Self::Int16,
            "i32" => Self::Int32,
            "i64" => Self::Int64,
            "u8" => Self::Uint8,
            "u16" => Self::Uint16,
            "u32" => Self::Uint32,
            "u64" => Self::Uint64,
            "str" => Self::String,
            "bool_" | "boolean" => Self::Bool,
            "float4_e2m1" => Self::Float4E2M1,
            "float8_e8m0" => Self::Float8E8M0,
            "float6_e2m3" => Self::Float6E2M3,
            "float6_e3m2" => Self::Float6E3M2,
            _ => return None,
        })
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no element type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not an element type")]
pub struct UnknownElemTypeError(pub String);

impl FromStr for ElemType {
    type Err = UnknownElemTypeError;

    fn from_str(name: &str) -> Result<Self, UnknownElemTypeError> {
        Self::from_name(name).ok_or_else(|| UnknownElemTypeError(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_codes() {
        for (code, elem) in ElemType::all().enumerate() {
            assert_eq!(elem.code() as usize, code);
            assert_eq!(ElemType::from_code(code as i32), Some(elem));
            for name in [elem.name(), elem.proto_name()] {
                assert_eq!(ElemType::from_name(name), Some(elem), "{name}");
            }
        }
        assert_eq!(ElemType::all().count(), 29);
        for code in [-1, 29, i32::MAX, i32::MIN] {
            assert_eq!(ElemType::from_code(code), None);
        }
    }

    #[test]
    fn names_are_distinct() {
        for a in ElemType::all() {
            for b in ElemType::all().filter(|&b| b != a) {
                assert_ne!(a.name(), b.name());
                assert_ne!(a.proto_name(), b.proto_name());
                assert!(a.numpy_name().is_empty() || a.numpy_name() != b.numpy_name());
            }
        }
    }

    #[test]
    fn packed_lengths_round_up() {
        assert_eq!(ElemType::Uint4.byte_len(3), Some(2));
        assert_eq!(ElemType::Int2.byte_len(5), Some(2));
        assert_eq!(ElemType::Float6E2M3.byte_len(4), Some(3));
        assert_eq!(ElemType::Float6E2M3.byte_len(5), Some(4));
        assert_eq!(ElemType::Complex128.byte_len(2), Some(32));
        assert_eq!(ElemType::Double.byte_len(u64::MAX), None);
        assert_eq!(ElemType::String.byte_len(1), None);
    }
}
