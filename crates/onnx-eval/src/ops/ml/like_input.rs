//! `Binarizer`, `Imputer`, `Normalizer`, `Scaler`: each gives a tensor of the shape of its input.
//!
//! `Normalizer` divides by the greatest element (not its magnitude, which the reference takes), the sum of magnitudes, or the
//! root of the sum of squares; a row whose divisor is 0 stays.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use super::rows;
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Number, by_number, integer_range};
use crate::registry::{OpKernels, eval, since};

pub(super) const BINARIZER: OpKernels = eval(op::BINARIZER, &[since(1, binarize)]).of(domain::ML);
pub(super) const IMPUTER: OpKernels = eval(op::IMPUTER, &[since(1, impute)]).of(domain::ML);
pub(super) const NORMALIZER: OpKernels = eval(op::NORMALIZER, &[since(1, normalize)]).open().of(domain::ML);
pub(super) const SCALER: OpKernels = eval(op::SCALER, &[since(1, scale)]).of(domain::ML);

fn binarize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let threshold = f64::from(cx.float_or(attr::THRESHOLD, 0.0)?);
    by_number!(x.elem, T => {
        // An integer exceeds the threshold if it exceeds its floor, which is compared exactly.
        let exceeds = |value: T| if T::IS_FLOAT {
            value.f64() > threshold
        } else {
            !threshold.is_nan() && value.exact() > threshold.floor() as i128
        };
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.buffer(x.count)?;
        out.extend(elements.iter().map(|&value| if exceeds(value) { T::ONE } else { T::ZERO }));
        cx.put::<T>(0, x.elem, &x.dims, out)
    })
}

fn impute(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    if x.elem.is_float() {
        let values = cx.floats(attr::IMPUTED_VALUE_FLOATS)?.unwrap_or_default();
        let replaced = f64::from(cx.float_or(attr::REPLACED_VALUE_FLOAT, 0.0)?);
        return by_number!(x.elem, T => {
            let values = values.iter().map(|&value| T::of_f64(value.into())).collect::<Vec<_>>();
            replace::<T>(cx, &x, &values, |value| {
                value.f64() == replaced || value.is_nan() && replaced.is_nan()
            })
        });
    }
    let values = cx.ints(attr::IMPUTED_VALUE_INT64S)?.unwrap_or_default();
    let (low, high) = integer_range(x.elem)?;
    if !values.iter().all(|&value| (low..=high).contains(&value.into())) {
        return Err(Stop::failed("a value does not fit the type of the input"));
    }
    let replaced = cx.int_or(attr::REPLACED_VALUE_INT64, 0)?;
    replace::<i64>(cx, &x, &values, |value| value == replaced)
}

fn replace<T: Number>(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    values: &[T],
    is_missing: impl Fn(T) -> bool,
) -> Outcome {
    let features = x.dims.last().copied().unwrap_or(1);
    if values.len() != 1 && values.len() != features || values.is_empty() && x.count > 0 {
        return Err(Stop::failed(format_args!("there are {} values for {features} features", values.len())));
    }
    let elements = cx.read::<T>(x)?;
    let mut out = cx.buffer(x.count)?;
    let own = elements.iter().zip(values.iter().cycle());
    out.extend(own.map(|(&value, &instead)| if is_missing(value) { instead } else { value }));
    cx.put::<T>(0, x.elem, &x.dims, out)
}

/// The elements of an operand as `double`.
pub(super) fn doubles(cx: &mut Cx<'_, '_>, x: &Operand) -> Outcome<Vec<f64>> {
    if x.elem.is_float() {
        return Ok(cx.read_f64(x)?.into_vec());
    }
    let elements = cx.read::<i64>(x)?;
    cx.collect(elements.iter().map(|&value| value as f64))
}

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (_, features) = rows(&x)?;
    let divisor: fn(&[f64]) -> f64 = match cx.text(attr::NORM)? {
        "MAX" => {
            |row| row.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a > b { a } else { b })
        }
        "L1" => |row| row.iter().map(|value| value.abs()).sum(),
        "L2" => |row| row.iter().map(|value| value * value).sum::<f64>().sqrt(),
        _ => return Err(Stop::failed("attribute `norm` names no norm")),
    };
    let elements = doubles(cx, &x)?;
    let mut out = cx.buffer(x.count)?;
    for row in elements.chunks(features.max(1)) {
        let divisor = divisor(row);
        let divisor = if divisor == 0.0 { 1.0 } else { divisor };
        out.extend(row.iter().map(|value| (value / divisor) as f32));
    }
    cx.put(0, ElemType::Float, &x.dims, out)
}

fn scale(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let offsets = cx.floats(attr::OFFSET)?.unwrap_or_else(|| vec![0.0]);
    let scales = cx.floats(attr::SCALE)?.unwrap_or_else(|| vec![1.0]);
    let features = x.dims.last().copied().unwrap_or(1);
    if [&offsets, &scales].iter().any(|list| list.len() != 1 && list.len() != features || list.is_empty()) {
        return Err(Stop::failed(format_args!("the offsets or scales do not fit {features} features")));
    }
    let elements = doubles(cx, &x)?;
    let mut out = cx.buffer(x.count)?;
    let factors = offsets.iter().cycle().zip(scales.iter().cycle());
    let scaled = |(value, (&offset, &scale)): (&f64, (&f32, &f32))| {
        ((value - f64::from(offset)) * f64::from(scale)) as f32
    };
    out.extend(elements.iter().zip(factors).map(scaled));
    cx.put(0, ElemType::Float, &x.dims, out)
}
