//! Comparison of the outputs of the two sides.

use onnx_eval::Value;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType};

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
        let whole = || Difference { output, element: None, before: old.describe(), after: new.describe() };
        if !is_alike(old, new) {
            return Some(whole());
        }
        // The tolerances of a sequence are those of all its tensors, one after another.
        let mut first = 0_usize;
        for (a, b) in tensors_in(old).into_iter().zip(tensors_in(new)) {
            let tolerance =
                tolerance.map(|(all, allow_nan)| (all.get(first..).unwrap_or_default(), allow_nan));
            if let Some((index, before, after)) = tensors(a, b, tolerance) {
                let is_single = old.tensor().is_some();
                let element = index.filter(|_| is_single).map(|index| indices(a.dims(), index));
                return Some(Difference { output, element, before, after });
            }
            first = first.saturating_add(float_count(a));
        }
    }
    None
}

/// The first difference of outputs from each of several results; an element is compared with those at its place.
pub(crate) fn beyond(all: &[Vec<Value>], after: &[Value]) -> Option<Difference> {
    for (output, new) in after.iter().enumerate() {
        let olds: Vec<&Value> =
            all.iter().filter_map(|old| old.get(output)).filter(|old| is_alike(old, new)).collect();
        let Some(first) = olds.first() else { continue };
        let news: Vec<f64> = floats_in(new).collect();
        let olds: Vec<Vec<f64>> = olds.iter().map(|old| floats_in(old).collect()).collect();
        let is_new = |index: usize, number: f64| {
            olds.iter().all(|old| old.get(index).is_none_or(|&old| !same_float(old, number, None)))
        };
        let Some(index) = news.iter().enumerate().position(|(index, &number)| is_new(index, number)) else {
            continue;
        };
        let text = |numbers: &[f64]| numbers.get(index).map(|number| format!("{number:?}"));
        let before = olds.first().and_then(|old| text(old)).unwrap_or_default();
        let after = text(&news).unwrap_or_default();
        let element = first.tensor().filter(|tensor| tensor.elem().class() == ElemClass::Float);
        let element = element.map(|tensor| indices(tensor.dims(), index));
        return Some(Difference { output, element, before, after });
    }
    None
}

/// Returns `true` if two values are of one kind, of as many elements, and of tensors of the same types.
fn is_alike(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Tensor(old), Value::Tensor(new)) => (old.elem(), old.dims()) == (new.elem(), new.dims()),
        (Value::Sequence(old), Value::Sequence(new)) => {
            old.len() == new.len() && old.iter().zip(new.iter()).all(|(old, new)| is_alike(old, new))
        }
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Optional(Some(old)), Value::Optional(Some(new))) => is_alike(old, new),
        (Value::Map(old), Value::Map(new)) => {
            old.keys().eq(new.keys()) && old.values().zip(new.values()).all(|(old, new)| is_alike(old, new))
        }
        _ => false,
    }
}

/// The tensors that a value consists of, in order.
fn tensors_in(value: &Value) -> Vec<&Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor],
        Value::Sequence(items) => items.iter().flat_map(tensors_in).collect(),
        Value::Optional(inner) => inner.iter().flat_map(|inner| tensors_in(inner)).collect(),
        Value::Map(entries) => entries.values().flat_map(tensors_in).collect(),
    }
}

/// The first element that differs, with both values; no index if the type has no numbers.
fn tensors(
    a: &Tensor,
    b: &Tensor,
    tolerances: Option<(&[f64], bool)>,
) -> Option<(Option<usize>, String, String)> {
    // Most pairs are, and reading the numbers of a large tensor takes as long as computing them.
    if matches!((a.bytes(&NoData), b.bytes(&NoData)), (Ok(a), Ok(b)) if a == b) {
        return None;
    }
    if let (Some(first), Some(second)) = (floats(a), floats(b)) {
        let mut pairs = first.iter().zip(&second).enumerate();
        let found = pairs.find(|&(index, (&a, &b))| {
            let own = |tolerances: &[f64]| tolerances.get(index).copied().unwrap_or(0.0);
            !same_float(a, b, tolerances.map(|(tolerances, allow_nan)| (own(tolerances), allow_nan)))
        });
        let parts = if a.elem().class() == ElemClass::Complex { 2 } else { 1 };
        return found.map(|(index, (a, b))| (index.checked_div(parts), format!("{a:?}"), format!("{b:?}")));
    }
    if a.same_meaning(b, &NoData) {
        return None;
    }
    let elements = |tensor: &Tensor| -> Vec<String> { element_texts(tensor, usize::MAX) };
    let (first, second) = (elements(a), elements(b));
    let index = first.iter().zip(&second).position(|(a, b)| a != b);
    let text = |all: &[String]| {
        let element = index.and_then(|index| all.get(index)).cloned();
        element.unwrap_or_else(|| "another tensor".to_owned())
    };
    Some((index, text(&first), text(&second)))
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
    let mut floats =
        tensors_in(value).into_iter().filter_map(floats).filter(|all| !all.is_empty()).peekable();
    floats.peek().is_none() || floats.flatten().any(f64::is_finite)
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
        ElemClass::Complex => {
            let parts = floats(tensor).unwrap_or_default();
            parts.as_chunks().0.iter().take(max).map(|[re, im]| format!("{re:?} + {im:?}i")).collect()
        }
        ElemClass::None => Vec::new(),
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

/// The elements of a tensor of floats, and the parts of those of complex numbers; `None` for others.
pub(crate) fn floats(tensor: &Tensor) -> Option<Vec<f64>> {
    match tensor.elem() {
        ElemType::Complex64 => {
            let bytes = tensor.bytes(&NoData).ok()?;
            Some(bytes.as_chunks().0.iter().map(|&part| f64::from(f32::from_le_bytes(part))).collect())
        }
        ElemType::Complex128 => {
            let bytes = tensor.bytes(&NoData).ok()?;
            Some(bytes.as_chunks().0.iter().map(|&part| f64::from_le_bytes(part)).collect())
        }
        elem if elem.class() == ElemClass::Float => Some(tensor.iter_f64(&NoData).ok()?.collect()),
        _ => None,
    }
}

/// The number of floats that [`floats`] gives.
fn float_count(tensor: &Tensor) -> usize {
    let parts = match tensor.elem().class() {
        ElemClass::Float => 1,
        ElemClass::Complex => 2,
        _ => 0,
    };
    tensor.element_count().and_then(|count| usize::try_from(count).ok()).unwrap_or(0).saturating_mul(parts)
}

/// The floats of all tensors of a value, one after another.
pub(crate) fn floats_in(value: &Value) -> impl Iterator<Item = f64> + '_ {
    tensors_in(value).into_iter().filter_map(floats).flatten()
}

/// The finite magnitudes of the floats of a value.
pub(crate) fn magnitudes(value: &Value) -> Vec<f64> {
    floats_in(value).map(finite_magnitude).collect()
}

fn finite_magnitude(number: f64) -> f64 {
    if number.is_finite() { number.abs() } else { 0.0 }
}

/// The finite differences of the floats of two values of one type; none for others.
pub(crate) fn distances(one: &Value, two: &Value) -> Vec<f64> {
    if !is_alike(one, two) {
        return Vec::new();
    }
    floats_in(one).zip(floats_in(two)).map(|(one, two)| finite_magnitude(one - two)).collect()
}

/// The largest number; 0 if there is none.
pub(crate) fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}
