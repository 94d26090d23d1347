//! The types that kernels compute with, and how elements of all 28 types are read as them and written back.
//!
//! Arithmetic kernels are written once over [`Number`], which four types implement. This is the one place that decides in
//! which type an element type is computed:
//!
//! | element type | computed in | written back |
//! |---|---|---|
//! | `float` | `f32` | as it is |
//! | `double` | `f64` | as it is |
//! | `float16`, `bfloat16`, 8-, 6- and 4-bit floats | `f32` | rounded once, to nearest even; 8 bits and fewer saturate |
//! | `uint64` | `u64` | as it is |
//! | all other integers, `bool` | `i64` | low bits, so results wrap |
//!
//! Kernels that move elements without computing are written over [`Unit`]: bytes of a width, whatever they mean.

mod functions;
mod narrow;
mod unit;

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use onnx_types::ElemType;
use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};

pub use unit::Unit;
pub(crate) use unit::{UnitWidth, unit_width};

use crate::cx::{Outcome, Stop};

/// The type in which elements are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compute {
    F32,
    F64,
    I64,
    U64,
}

/// The type in which elements of a type are computed; `None` for strings and complex numbers.
pub(crate) fn compute(elem: ElemType) -> Option<Compute> {
    use onnx_types::ElemClass as C;
    Some(match (elem, elem.class()) {
        (ElemType::Double, _) => Compute::F64,
        (ElemType::Uint64, _) => Compute::U64,
        (_, C::Float) => Compute::F32,
        (_, C::Int | C::Uint | C::Bool) => Compute::I64,
        (_, C::None | C::Complex | C::String) => return None,
    })
}

/// Evaluates `$body` with the type alias `$T` for the type in which `$elem` is computed.
macro_rules! by_number {
    ($elem:expr, $T:ident => $body:expr) => {
        match $crate::number::compute($elem) {
            Some($crate::number::Compute::F32) => {
                type $T = f32;
                $body
            }
            Some($crate::number::Compute::F64) => {
                type $T = f64;
                $body
            }
            Some($crate::number::Compute::I64) => {
                type $T = i64;
                $body
            }
            Some($crate::number::Compute::U64) => {
                type $T = u64;
                $body
            }
            None => Err($crate::cx::Stop::unsupported_type($elem)),
        }
    };
}

/// Like [`by_number`], for operators of floats only.
macro_rules! by_float {
    ($elem:expr, $T:ident => $body:expr) => {
        match $crate::number::compute($elem) {
            Some($crate::number::Compute::F32) => {
                type $T = f32;
                $body
            }
            Some($crate::number::Compute::F64) => {
                type $T = f64;
                $body
            }
            _ => Err($crate::cx::Stop::unsupported_type($elem)),
        }
    };
}

/// Evaluates `$body` with the type alias `$U` for the unit in which elements of `$elem` are moved.
macro_rules! by_unit {
    ($elem:expr, $U:ident => $body:expr) => {
        match $crate::number::unit_width($elem) {
            $crate::number::UnitWidth::W1 => {
                type $U = u8;
                $body
            }
            $crate::number::UnitWidth::W2 => {
                type $U = u16;
                $body
            }
            $crate::number::UnitWidth::W4 => {
                type $U = u32;
                $body
            }
            $crate::number::UnitWidth::W8 => {
                type $U = u64;
                $body
            }
            $crate::number::UnitWidth::W16 => {
                type $U = u128;
                $body
            }
            $crate::number::UnitWidth::Text => {
                type $U = bytes::Bytes;
                $body
            }
        }
    };
}
pub(crate) use {by_float, by_number, by_unit};

/// Elements of a tensor: in place if the bytes are aligned for the type, else a copy.
#[derive(Clone)]
pub struct Elems<T>(Source<T>);

#[derive(Clone)]
enum Source<T> {
    InPlace(Bytes, fn(&[u8]) -> Option<&[T]>),
    Owned(Vec<T>),
}

impl<T> Elems<T> {
    pub(crate) fn in_place(bytes: Bytes, cast: fn(&[u8]) -> Option<&[T]>) -> Result<Self, Bytes> {
        if cast(&bytes).is_some() { Ok(Self(Source::InPlace(bytes, cast))) } else { Err(bytes) }
    }

    pub(crate) const fn owned(elements: Vec<T>) -> Self {
        Self(Source::Owned(elements))
    }

    /// The elements as a vector, which is a copy unless they are owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<T>
    where
        T: Clone,
    {
        match self.0 {
            Source::InPlace(bytes, cast) => cast(&bytes).unwrap_or_default().to_vec(),
            Source::Owned(elements) => elements,
        }
    }
}

impl<T> Deref for Elems<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Source::InPlace(bytes, cast) => cast(bytes).unwrap_or_default(),
            Source::Owned(elements) => elements,
        }
    }
}

/// A type that kernels compute with. Arithmetic of integers wraps.
pub trait Number: Unit + Copy + PartialEq + PartialOrd + Debug + Default {
    /// Whether the type is a floating-point type.
    const IS_FLOAT: bool;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The greatest value; infinity of floats.
    const TOP: Self;
    /// The least value; negative infinity of floats.
    const BOTTOM: Self;

    /// Converts from a float: to the nearest float, or to an integer as `Cast` does, which truncates and saturates; negative
    /// numbers wrap to `u64`.
    fn of_f64(value: f64) -> Self;
    /// Converts from an integer: low bits, or the nearest float.
    fn of_i64(value: i64) -> Self;
    /// The value as a float, rounded to nearest.
    fn f64(self) -> f64;
    /// The value as an integer; floats are truncated.
    fn exact(self) -> i128;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// The quotient, toward zero for integers; `None` for an integer divided by 0.
    fn over(self, other: Self) -> Option<Self>;
    /// Returns `true` for NaN.
    fn is_nan(self) -> bool;
    /// The elements of a tensor whose type is computed in this type.
    ///
    /// # Errors
    ///
    /// Returns the reason if the tensor cannot be read or is computed in another type.
    fn decode(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<Self>, TensorError>;
    /// The payload of elements of a type that is computed in this type.
    fn encode(elem: ElemType, elements: Vec<Self>) -> Payload;
    /// The bytes of elements as they are in memory, which are shared with the vector.
    fn shared(elements: &Arc<Vec<Self>>) -> Bytes;
}

/// A floating-point type that kernels compute with: functions have the same result on every platform.
pub trait Float: Number + Into<f64> {
    /// The element type.
    const ELEM: ElemType;
    /// The nearest value of the type.
    fn of(value: f64) -> Self {
        Self::of_f64(value)
    }
    /// Applies a function of `f64` and rounds.
    fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self::of_f64(function(self.f64()))
    }
    /// The absolute value.
    fn magnitude(self) -> Self;
    /// The square root, correctly rounded.
    fn root(self) -> Self;
    /// e to the power of the value.
    fn exponential(self) -> Self;
    /// The natural logarithm.
    fn logarithm(self) -> Self;
    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// The error function.
    fn error_function(self) -> Self;
}

macro_rules! float {
    ($type:ty, $elem:ident, $exp:path, $log:path, $tanh:path, $erf:path) => {
        impl Float for $type {
            const ELEM: ElemType = ElemType::$elem;

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn root(self) -> Self {
                self.sqrt()
            }

            #[inline]
            fn exponential(self) -> Self {
                $exp(self)
            }

            #[inline]
            fn hyperbolic_tangent(self) -> Self {
                $tanh(self)
            }

            #[inline]
            fn error_function(self) -> Self {
                $erf(self)
            }

            fn logarithm(self) -> Self {
                $log(self)
            }
        }
    };
}

float!(f32, Float, functions::exp, libm::logf, functions::tanh, functions::erf);
float!(f64, Double, libm::exp, libm::log, libm::tanh, libm::erf);

macro_rules! number_of_floats {
    ($type:ty, $decode:path, $encode:path) => {
        impl Number for $type {
            const IS_FLOAT: bool = true;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const TOP: Self = Self::INFINITY;
            const BOTTOM: Self = Self::NEG_INFINITY;

            fn of_f64(value: f64) -> Self {
                value as Self
            }

            fn of_i64(value: i64) -> Self {
                value as Self
            }

            fn f64(self) -> f64 {
                f64::from(self)
            }

            fn exact(self) -> i128 {
                self as i128
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline]
            fn over(self, other: Self) -> Option<Self> {
                Some(self / other)
            }

            fn is_nan(self) -> bool {
                self != self
            }

            fn decode(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<Self>, TensorError> {
                $decode(tensor, data)
            }

            fn encode(elem: ElemType, elements: Vec<Self>) -> Payload {
                $encode(elem, elements)
            }

            fn shared(elements: &Arc<Vec<Self>>) -> Bytes {
                unit::shared(elements)
            }
        }
    };
}

macro_rules! number_of_integers {
    ($type:ty, $of_f64:expr, $decode:path, $encode:path) => {
        impl Number for $type {
            const IS_FLOAT: bool = false;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const TOP: Self = Self::MAX;
            const BOTTOM: Self = Self::MIN;

            fn of_f64(value: f64) -> Self {
                $of_f64(value)
            }

            fn of_i64(value: i64) -> Self {
                value as Self
            }

            fn f64(self) -> f64 {
                self as f64
            }

            fn exact(self) -> i128 {
                i128::from(self)
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn over(self, other: Self) -> Option<Self> {
                if other == 0 { None } else { Some(self.wrapping_div(other)) }
            }

            fn is_nan(self) -> bool {
                false
            }

            fn decode(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<Self>, TensorError> {
                $decode(tensor, data)
            }

            fn encode(elem: ElemType, elements: Vec<Self>) -> Payload {
                $encode(elem, elements)
            }

            fn shared(elements: &Arc<Vec<Self>>) -> Bytes {
                unit::shared(elements)
            }
        }
    };
}

number_of_floats!(f32, narrow::decode_f32, narrow::encode_f32);
number_of_floats!(f64, narrow::decode_f64, narrow::encode_f64);
number_of_integers!(i64, |value| value as i64, narrow::decode_i64, narrow::encode_i64);
number_of_integers!(u64, unsigned, narrow::decode_u64, narrow::encode_u64);

fn unsigned(value: f64) -> u64 {
    if value < 0.0 { (value as i64).cast_unsigned() } else { value as u64 }
}

/// The range of an integer type or of `bool`.
pub(crate) fn integer_range(elem: ElemType) -> Outcome<(i128, i128)> {
    let bits = elem.bits().ok_or_else(|| Stop::unsupported_type(elem))?;
    Ok(match elem.class() {
        onnx_types::ElemClass::Int => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        onnx_types::ElemClass::Uint => (0, (1 << bits) - 1),
        onnx_types::ElemClass::Bool => (0, 1),
        _ => return Err(Stop::unsupported_type(elem)),
    })
}

/// Floats rounded to a type, as `double`.
pub(crate) fn round_all<T: Float>(elem: ElemType, elements: &[T]) -> Vec<f64> {
    if elem == ElemType::Double {
        return elements.iter().map(|value| value.f64()).collect();
    }
    let narrow: Vec<f32> = elements.iter().map(|value| value.f64() as f32).collect();
    let dims = [narrow.len() as i64];
    let tensor = Tensor::from_parts(elem.code(), dims.as_slice().into(), f32::encode(elem, narrow));
    let rounded = f32::decode(&tensor, &onnx_types::tensor::NoData);
    rounded.map(|rounded| rounded.iter().map(|&value| f64::from(value)).collect()).unwrap_or_default()
}

/// The value after it is written and read back: rounded to a narrow float, or wrapped to a narrow integer.
pub(crate) fn fit<T: Number>(elem: ElemType, value: T) -> T {
    let payload = T::encode(elem, vec![value]);
    let tensor = Tensor::from_parts(elem.code(), [1].as_slice().into(), payload);
    T::decode(&tensor, &onnx_types::tensor::NoData)
        .ok()
        .and_then(|elements| elements.first().copied())
        .unwrap_or(value)
}
