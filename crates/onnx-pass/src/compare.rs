//! Comparison of the outputs of the two sides.

use onnx_eval::Value;
use onnx_types::ElemClass;
use onnx_types::tensor::{NoData, Tensor};

/// The first difference between two outputs.
pub(crate) struct Difference {
    /// Index of the output.
    pub(crate) output: usize,
    /// The indices of the element, if both are tensors of one shape.
    pub(crate) element: Option<Vec<i64>>,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The criterion of equality.
pub(crate) enum Equality {
    /// Those with the same bits; NaNs are equal to each other.
    Bits,
    /// Those whose difference rounding can explain.
    Rounding {
        /// The largest difference that counts as equal, by output and element.
        tolerances: Vec<Vec<f64>>,
        /// Whether any result is equal to a NaN of the old side.
        allow_nan: bool,
    },
}

/// The first difference.
pub(crate) fn difference(before: &[Value], after: &[Value], equality: &Equality) -> Option<Difference> {
    for (output, (old, new)) in before.iter().zip(after).enumerate() {
        let tolerance = match equality {
            Equality::Bits => None,
            Equality::Rounding { tolerances, allow_nan } => {
                tolerances.get(output).map(|tolerances| (&tolerances[..], *allow_nan))
            }
        };
        let (Some(first), Some(second)) = (old.tensor(), new.tensor()) else {
            if old != new {
                let (before, after) = (old.describe(), new.describe());
                return Some(Difference { output, element: None, before, after });
            }
            continue;
        };
        if first.elem() != second.elem() || first.dims() != second.dims() {
            let (before, after) = (old.describe(), new.describe());
            return Some(Difference { output, element: None, before, after });
        }
        if let Some((index, before, after)) = tensors(first, second, tolerance) {
            let element = Some(indices(first.dims(), index));
            return Some(Difference { output, element, before, after });
        }
    }
    None
}

/// The first element that differs, with both values.
fn tensors(a: &Tensor, b: &Tensor, tolerances: Option<(&[f64], bool)>) -> Option<(usize, String, String)> {
    if a.elem().class() == ElemClass::Float {
        let (first, second) = (a.iter_f64(&NoData).ok()?, b.iter_f64(&NoData).ok()?);
        let mut pairs = first.zip(second).enumerate();
        let found = pairs.find(|&(index, (a, b))| {
            let own = |tolerances: &[f64]| tolerances.get(index).copied().unwrap_or(0.0);
            !same_float(a, b, tolerances.map(|(tolerances, allow_nan)| (own(tolerances), allow_nan)))
        });
        return found.map(|(index, (a, b))| (index, format!("{a:?}"), format!("{b:?}")));
    }
    if a.same_meaning(b, &NoData) {
        return None;
    }
    let elements = |tensor: &Tensor| -> Vec<String> { element_texts(tensor, usize::MAX) };
    let (first, second) = (elements(a), elements(b));
    let index = first.iter().zip(&second).position(|(a, b)| a != b)?;
    Some((index, first.get(index)?.clone(), second.get(index)?.clone()))
}

fn same_float(a: f64, b: f64, tolerance: Option<(f64, bool)>) -> bool {
    match tolerance {
        None => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        Some((_, allow_nan)) if a.is_nan() => allow_nan || b.is_nan(),
        // Overflow does not disprove equality in real arithmetic.
        Some(_) if a.is_infinite() => true,
        Some((tolerance, _)) => (a - b).abs() <= tolerance,
    }
}

/// Returns `true` if a result has elements.
pub(crate) fn has_elements(value: &Value) -> bool {
    value.tensor().is_none_or(|tensor| tensor.element_count() != Some(0))
}

/// Returns `true` if a result is evidence about real numbers: it has a finite element, has no elements, or has elements
/// that are not floats.
pub(crate) fn has_finite(value: &Value) -> bool {
    let Some(tensor) = value.tensor().filter(|tensor| tensor.elem().class() == ElemClass::Float) else {
        return true;
    };
    if !has_elements(value) {
        return true;
    }
    tensor.iter_f64(&NoData).is_ok_and(|mut elements| elements.any(f64::is_finite))
}

/// The elements as text, at most `max` of them; empty if they cannot be read.
pub(crate) fn element_texts(tensor: &Tensor, max: usize) -> Vec<String> {
    match tensor.elem().class() {
        ElemClass::Int | ElemClass::Uint | ElemClass::Bool => match tensor.iter_i64(&NoData) {
            Ok(elements) => elements.take(max).map(|element| element.to_string()).collect(),
            // A number of 64 bits without a sign.
            Err(_) => tensor.to_vec::<u64>(&NoData).map_or_else(
                |_| Vec::new(),
                |elements| elements.iter().take(max).map(u64::to_string).collect(),
            ),
        },
        ElemClass::Float => tensor.iter_f64(&NoData).map_or_else(
            |_| Vec::new(),
            |elements| elements.take(max).map(|element| format!("{element:?}")).collect(),
        ),
        ElemClass::String => tensor.string_bytes().map_or_else(
            |_| Vec::new(),
            |strings| {
                let text = |bytes: &bytes::Bytes| format!("{:?}", String::from_utf8_lossy(bytes));
                strings.iter().take(max).map(text).collect()
            },
        ),
        _ => Vec::new(),
    }
}

/// The indices of an element by its position in row-major order.
fn indices(dims: &[i64], position: usize) -> Vec<i64> {
    let mut rest = i64::try_from(position).unwrap_or(0);
    let mut indices: Vec<i64> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let index = rest.checked_rem(dim).unwrap_or(0);
            rest = rest.checked_div(dim).unwrap_or(0);
            index
        })
        .collect();
    indices.reverse();
    indices
}

/// The elements of a tensor of floats; none of other values.
fn floats(value: &Value) -> Option<impl Iterator<Item = f64> + '_> {
    let tensor = value.tensor().filter(|tensor| tensor.elem().class() == ElemClass::Float)?;
    tensor.iter_f64(&NoData).ok()
}

/// The finite magnitudes of the elements of a tensor of floats; those of others are 0.
pub(crate) fn magnitudes(value: &Value) -> Vec<f64> {
    floats(value).into_iter().flatten().map(finite_magnitude).collect()
}

fn finite_magnitude(number: f64) -> f64 {
    if number.is_finite() { number.abs() } else { 0.0 }
}

/// The finite differences of the elements of two tensors of one shape; none for others.
pub(crate) fn distances(one: &Value, two: &Value) -> Vec<f64> {
    let is_alike = one.tensor().zip(two.tensor()).is_some_and(|(one, two)| one.dims() == two.dims());
    let pairs = floats(one).zip(floats(two)).filter(|_| is_alike);
    let differences = pairs.into_iter().flat_map(|(one, two)| one.zip(two)).map(|(one, two)| one - two);
    differences.map(finite_magnitude).collect()
}

/// The largest number; 0 if there is none.
pub(crate) fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}
