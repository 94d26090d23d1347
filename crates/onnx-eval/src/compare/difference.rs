//! How two values differ.

use onnx_diag::Locus;
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Interrupt};

use super::elements::Tensors;
use super::mixed::narrower;
use super::tolerance::{Tolerance, Tolerances};
use crate::fault::Failure;
use crate::value::Value;

/// How a value differs from another one.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Difference {
    /// Number of elements of the first value.
    pub elements: u64,
    /// Number of elements that are not the same, within the tolerance or not.
    pub differing: u64,
    /// Number of elements that are beyond the tolerance.
    pub exceeding: u64,
    /// The greatest `|a - b|`; infinity if a NaN or an infinity differs.
    pub max_abs: f64,
    /// The greatest `|a - b| / |b|`; infinity if `b` is 0.
    pub max_rel: f64,
    /// The greatest number of values of the type from one to the other; of two types, the narrower one counts.
    pub max_ulps: u64,
    /// The first element that is beyond the tolerance; if none is, the first one that differs.
    pub first: Option<First>,
    /// How types, shapes or lengths differ, in which case elements are not compared.
    pub mismatch: Option<String>,
}

/// An element that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct First {
    /// The elements of sequences, optionals and maps that lead to the tensor: `[1]["key"]`; empty for a tensor.
    pub path: String,
    /// The index in the tensor, outermost axis first.
    pub index: Vec<i64>,
    /// The element in the first value.
    pub a: String,
    /// The element in the second value.
    pub b: String,
    /// Whether it is within the tolerance.
    pub is_within: bool,
    linear: usize,
}

impl Difference {
    /// Whether types and shapes are equal and all elements are within the tolerance.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.exceeding == 0 && self.mismatch.is_none()
    }

    /// Adds a pair of elements that are not the same; `numbers` are both, and their distance in units in the last place.
    pub(super) fn add(
        &mut self,
        linear: usize,
        is_within: bool,
        numbers: Option<(f64, f64, u64)>,
        texts: impl FnOnce() -> (String, String),
    ) {
        self.differing += 1;
        self.exceeding += u64::from(!is_within);
        if let Some((a, b, ulps)) = numbers {
            let distance = (a - b).abs();
            let distance = if distance.is_nan() { f64::INFINITY } else { distance };
            let relative = if distance.is_finite() && b != 0.0 { distance / b.abs() } else { f64::INFINITY };
            self.max_abs = self.max_abs.max(distance);
            self.max_rel = self.max_rel.max(relative);
            self.max_ulps = self.max_ulps.max(ulps);
        }
        if self.first.as_ref().is_none_or(|first| first.is_within && !is_within) {
            let (a, b) = texts();
            let (path, index) = (String::new(), Vec::new());
            self.first = Some(First { path, index, a, b, is_within, linear });
        }
    }

    /// Adds the differences of a part of the value.
    pub(super) fn merge(&mut self, part: Self) {
        self.elements += part.elements;
        self.differing += part.differing;
        self.exceeding += part.exceeding;
        self.max_abs = self.max_abs.max(part.max_abs);
        self.max_rel = self.max_rel.max(part.max_rel);
        self.max_ulps = self.max_ulps.max(part.max_ulps);
        let is_later = |first: &First, part: &First| first.is_within && !part.is_within;
        match (&self.first, part.first) {
            (None, new) => self.first = new,
            (Some(first), Some(new)) if is_later(first, &new) => self.first = Some(new),
            _ => {}
        }
        if self.mismatch.is_none() {
            self.mismatch = part.mismatch;
        }
    }

    /// The difference of a value that repeats this one.
    pub(super) const fn repeated(mut self, count: u64) -> Self {
        self.elements *= count;
        self.differing *= count;
        self.exceeding *= count;
        self
    }

    fn mismatch(path: &str, reason: String) -> Self {
        let reason = if path.is_empty() { reason } else { format!("at {path}: {reason}") };
        Self { mismatch: Some(reason), ..Self::default() }
    }
}

/// Compares two values; elements that cannot be read are a mismatch.
#[must_use]
pub fn compare_values(a: &Value, b: &Value, tolerances: &Tolerances) -> Difference {
    compare_values_within(a, b, tolerances, &Interrupt::NEVER)
        .unwrap_or_else(|failure| Difference::mismatch("", failure.to_string()))
}

/// Compares two values. A tensor of one repeated element is not written out.
///
/// # Errors
///
/// Returns a failure if elements cannot be read, or the interrupt ends the work.
pub fn compare_values_within(
    a: &Value,
    b: &Value,
    tolerances: &Tolerances,
    interrupt: &Interrupt,
) -> Result<Difference, Failure> {
    compare_with(a, b, &|a, b| (a == b).then(|| tolerances.of(a)), interrupt)
}

/// Compares two values as [`compare_values_within`] does, except that tensors of two float types are compared as numbers, with
/// the tolerance of the narrower type.
pub(super) fn compare_numbers(
    a: &Value,
    b: &Value,
    tolerances: &Tolerances,
    interrupt: &Interrupt,
) -> Result<Difference, Failure> {
    let tolerance = |a, b| if a == b { Some(tolerances.of(a)) } else { Some(tolerances.of(narrower(a, b)?)) };
    compare_with(a, b, &tolerance, interrupt)
}

/// The tolerance for elements of two types; `None` if they are not compared.
type TolerancesOfPairs<'a> = dyn Fn(ElemType, ElemType) -> Option<Tolerance> + 'a;

fn compare_with(
    a: &Value,
    b: &Value,
    tolerance: &TolerancesOfPairs<'_>,
    interrupt: &Interrupt,
) -> Result<Difference, Failure> {
    let mut found = Difference::default();
    // The last one is next, so that elements of sequences are compared in order.
    let mut open = vec![(String::new(), a, b)];
    while let Some((path, a, b)) = open.pop() {
        match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => found.merge(tensors(&path, a, b, tolerance, interrupt)?),
            (Value::Sequence(a), Value::Sequence(b)) if a.len() == b.len() => {
                let pairs = a.iter().zip(b.iter()).enumerate();
                open.extend(pairs.rev().map(|(index, (a, b))| (format!("{path}[{index}]"), a, b)));
            }
            (Value::Optional(None), Value::Optional(None)) => {}
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => open.push((path, a, b)),
            (Value::Map(a), Value::Map(b)) if a.keys().eq(b.keys()) => {
                let pairs = a.iter().zip(b.values());
                open.extend(pairs.rev().map(|((key, a), b)| (format!("{path}[{}]", key_text(key)), a, b)));
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                found.merge(Difference::mismatch(&path, "the keys differ".to_owned()));
            }
            _ => {
                let reason = format!("{} instead of {}", b.describe(), a.describe());
                found.merge(Difference::mismatch(&path, reason));
            }
        }
    }
    Ok(found)
}

fn key_text(key: &crate::MapKey) -> String {
    match key {
        crate::MapKey::Int(key) => key.to_string(),
        crate::MapKey::Text(key) => onnx_diag::Quoted(&String::from_utf8_lossy(key)).to_string(),
    }
}

fn tensors(
    path: &str,
    a: &Tensor,
    b: &Tensor,
    tolerance: &TolerancesOfPairs<'_>,
    interrupt: &Interrupt,
) -> Result<Difference, Failure> {
    let tolerance = tolerance(a.elem(), b.elem()).filter(|_| a.dims() == b.dims());
    let Some(tolerance) = tolerance else {
        let [a, b] = [a, b].map(|tensor| crate::value::describe(tensor.elem(), tensor.dims()));
        return Ok(Difference::mismatch(path, format!("{b} instead of {a}")));
    };
    let mut found = Difference::default();
    let tensors = Tensors { a, b, tolerance, interrupt };
    tensors.compare(&mut found).map_err(|stop| Failure::of_stop(stop, None, Locus::model()))?;
    if let Some(first) = &mut found.first {
        path.clone_into(&mut first.path);
        first.index = index(first.linear, a.dims());
    }
    Ok(found)
}

/// The index of an element, outermost axis first.
fn index(linear: usize, dims: &[i64]) -> Vec<i64> {
    let mut rest = i64::try_from(linear).unwrap_or(i64::MAX);
    let mut index: Vec<i64> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let at = rest.checked_rem(dim).unwrap_or_default();
            rest = rest.checked_div(dim).unwrap_or_default();
            at
        })
        .collect();
    index.reverse();
    index
}
