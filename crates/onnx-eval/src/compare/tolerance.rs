//! How far two numbers may be apart.

use onnx_types::ElemType;

/// How far two numbers `a` and `b` may be apart: `|a - b| <= atol + rtol * |b|`, or within `ulps` units in the last place.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Tolerance {
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance.
    pub atol: f64,
    /// The distance in units in the last place: the number of values of the type from one to the other.
    pub ulps: u64,
}

/// The tolerances of a comparison: a default for each element type, of which a caller can replace parts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Tolerances {
    /// The relative tolerance of all floats, instead of the default.
    pub rtol: Option<f64>,
    /// The absolute tolerance of all floats, instead of the default.
    pub atol: Option<f64>,
    /// The distance of all floats in units in the last place, instead of the default.
    pub ulps: Option<u64>,
}

/// The defaults: element type, relative and absolute tolerance, units in the last place. Types that are not listed are
/// compared exactly.
pub const DEFAULTS: &[(ElemType, f64, f64, u64)] = &[
    (ElemType::Double, 1e-9, 1e-11, 0),
    (ElemType::Complex128, 1e-9, 1e-11, 0),
    (ElemType::Float, 1e-4, 1e-5, 0),
    (ElemType::Complex64, 1e-4, 1e-5, 0),
    (ElemType::Float16, 1e-2, 1e-3, 0),
    (ElemType::Bfloat16, 4e-2, 8e-3, 0),
    (ElemType::Float8E4M3Fn, 0.0, 0.0, 1),
    (ElemType::Float8E4M3Fnuz, 0.0, 0.0, 1),
    (ElemType::Float8E5M2, 0.0, 0.0, 1),
    (ElemType::Float8E5M2Fnuz, 0.0, 0.0, 1),
    (ElemType::Float8E8M0, 0.0, 0.0, 1),
    (ElemType::Float6E2M3, 0.0, 0.0, 1),
    (ElemType::Float6E3M2, 0.0, 0.0, 1),
    (ElemType::Float4E2M1, 0.0, 0.0, 1),
];

impl Tolerances {
    /// No tolerance: values are equal if they are the same number.
    pub const EXACT: Self = Self { rtol: Some(0.0), atol: Some(0.0), ulps: Some(0) };

    /// The tolerance of an element type; 0 for integers, strings and `bool`.
    #[must_use]
    pub fn of(&self, elem: ElemType) -> Tolerance {
        let Some(&(_, rtol, atol, ulps)) = DEFAULTS.iter().find(|(known, ..)| *known == elem) else {
            return Tolerance::default();
        };
        Tolerance {
            rtol: self.rtol.unwrap_or(rtol),
            atol: self.atol.unwrap_or(atol),
            ulps: self.ulps.unwrap_or(ulps),
        }
    }
}

onnx_types::option_setters! {
    Tolerances {
        with_rtol => rtol: Option<f64>,
        with_atol => atol: Option<f64>,
        with_ulps => ulps: Option<u64>,
    }
}

impl Tolerance {
    /// Whether two numbers at this distance in units in the last place are within the tolerance.
    pub(super) fn allows(self, a: f64, b: f64, ulps: u64) -> bool {
        // Infinities differ by infinity, which no tolerance times a finite number reaches.
        ulps <= self.ulps || (a - b).abs() <= self.rtol.mul_add(b.abs(), self.atol) && (a - b).is_finite()
    }
}
