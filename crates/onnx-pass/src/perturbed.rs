//! Operands that are changed by their rounding error, and how much results may differ for that reason.

use std::sync::Arc;

use onnx_eval::SplitMix64;
use onnx_eval::Value;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::{compare, elements};

/// The largest differences that count as equal for changes of the operands.
pub(crate) fn tolerances(changes: &[f64], margin: f64) -> Vec<f64> {
    const SHARE: f64 = 1.0 / 256.0;
    let least = compare::largest(changes) * SHARE;
    changes.iter().map(|change| change.max(least) * margin).collect()
}

/// The relative rounding error of floats with a number of significand bits.
pub(crate) fn rounding_error(bits: i32) -> f64 {
    f64::from(2.0_f32).powi(bits.saturating_neg())
}

/// Number of significand bits of a float that is evaluated in 64 bits, including the leading one.
pub(crate) const fn precision(elem: ElemType) -> Option<i32> {
    match elem {
        ElemType::Float | ElemType::Complex64 => Some(24),
        ElemType::Float16 => Some(11),
        ElemType::Bfloat16 => Some(8),
        _ => None,
    }
}

/// A value whose floats are changed by a relative error of random sign.
pub(crate) fn perturbed(value: &Value, error: f64, rng: &mut SplitMix64) -> Value {
    match value {
        Value::Tensor(tensor) => {
            perturbed_tensor(tensor, error, rng).map_or_else(|| value.clone(), Value::from)
        }
        Value::Sequence(items) => {
            Value::Sequence(Arc::new(items.iter().map(|item| perturbed(item, error, rng)).collect()))
        }
        Value::Optional(Some(inner)) => Value::Optional(Some(Arc::new(perturbed(inner, error, rng)))),
        Value::Optional(None) | Value::Map(_) => value.clone(),
    }
}

/// `None` for a tensor without floats.
fn perturbed_tensor(tensor: &Tensor, error: f64, rng: &mut SplitMix64) -> Option<Tensor> {
    let elements = compare::floats(tensor)?;
    // In a type that rounds by as much as the error, a smaller change would be lost.
    let error = if tensor.elem() == ElemType::Double { error } else { error * 2.0 };
    // Errors of different magnitudes seldom cancel.
    let change = |number: f64, rng: &mut SplitMix64| {
        let error = error * (0.5 + rng.below(1 << 20) as f64 / f64::from(1 << 20));
        if rng.below(2) == 0 { number * (1.0 + error) } else { number * (1.0 - error) }
    };
    let elements: Vec<f64> = elements.into_iter().map(|number| change(number, rng)).collect();
    elements::make(tensor.elem(), tensor.dims().to_vec(), &elements, &[])
}
