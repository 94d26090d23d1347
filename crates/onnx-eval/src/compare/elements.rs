//! The elements of two tensors, side by side.

use onnx_types::tensor::{NoData, Tensor, TensorError};
use onnx_types::{ElemClass, ElemType};

use super::Difference;
use super::tolerance::Tolerance;
use crate::number::{Elems, Unit};

/// Adds the differences of two tensors of equal type and shape.
pub(super) fn tensors(
    a: &Tensor,
    b: &Tensor,
    tolerance: Tolerance,
    into: &mut Difference,
) -> Result<(), TensorError> {
    match a.elem().class() {
        ElemClass::String => {
            let pairs = a.string_bytes()?.iter().zip(b.string_bytes()?);
            for (index, (a, b)) in pairs.enumerate() {
                into.elements += 1;
                if a != b {
                    let text = |bytes: &[u8]| onnx_diag::Quoted(&String::from_utf8_lossy(bytes)).to_string();
                    into.add(index, false, None, || (text(a), text(b)));
                }
            }
            Ok(())
        }
        ElemClass::Float => floats(a, b, tolerance, into),
        ElemClass::Complex => complex(a, b, tolerance, into),
        _ => integers(a, b, into),
    }
}

/// The bits of each element, in the lowest bits of a number.
fn codes(tensor: &Tensor) -> Result<Box<dyn Iterator<Item = u128>>, TensorError> {
    Ok(match tensor.elem().bits() {
        Some(0..=8) => boxed(u8::load(tensor, &NoData)?),
        Some(16) => boxed(u16::load(tensor, &NoData)?),
        Some(32) => boxed(u32::load(tensor, &NoData)?),
        Some(64) => boxed(u64::load(tensor, &NoData)?),
        _ => boxed(u128::load(tensor, &NoData)?),
    })
}

fn boxed<T: Copy + Into<u128> + 'static>(elements: Elems<T>) -> Box<dyn Iterator<Item = u128>> {
    Box::new((0..elements.len()).filter_map(move |index| elements.get(index).map(|&code| code.into())))
}

fn floats(a: &Tensor, b: &Tensor, tolerance: Tolerance, into: &mut Difference) -> Result<(), TensorError> {
    let bits = a.elem().bits().unwrap_or(64);
    let is_signed = a.elem() != ElemType::Float8E8M0;
    let numbers = a.iter_f64(&NoData)?.zip(b.iter_f64(&NoData)?);
    for (index, ((a, b), (code_a, code_b))) in numbers.zip(codes(a)?.zip(codes(b)?)).enumerate() {
        into.elements += 1;
        let [ordered_a, ordered_b] = [code_a, code_b].map(|code| ordered(code, bits, is_signed));
        number(index, (a, b), (ordered_a.abs_diff(ordered_b), bits), tolerance, into);
    }
    Ok(())
}

/// A number that is greater by 1 for the next greater float: the magnitude with the sign.
fn ordered(code: u128, bits: u32, is_signed: bool) -> i128 {
    if !is_signed {
        return code.cast_signed();
    }
    let sign = 1_u128 << (bits - 1);
    let magnitude = (code & (sign - 1)).cast_signed();
    if code & sign == 0 { magnitude } else { -magnitude }
}

/// Adds a pair of floats of a type of this width.
fn number(
    index: usize,
    (a, b): (f64, f64),
    (ulps, bits): (u128, u32),
    tolerance: Tolerance,
    into: &mut Difference,
) {
    if a == b || (a.is_nan() && b.is_nan()) {
        return;
    }
    let ulps = u64::try_from(ulps).unwrap_or(u64::MAX);
    let is_within = !a.is_nan() && !b.is_nan() && tolerance.allows(a, b, ulps);
    into.add(index, is_within, Some((a, b, ulps)), || (shown(a, bits), shown(b, bits)));
}

/// The shortest text that is read back as the same number of the type.
fn shown(number: f64, bits: u32) -> String {
    if bits <= 32 { format!("{:?}", number as f32) } else { format!("{number:?}") }
}

fn complex(a: &Tensor, b: &Tensor, tolerance: Tolerance, into: &mut Difference) -> Result<(), TensorError> {
    let half = a.elem().bits().unwrap_or(128) / 2;
    let float = |code: u128| match half {
        32 => f64::from(f32::from_bits(code as u32)),
        _ => f64::from_bits(code as u64),
    };
    let mask = (1_u128 << half) - 1;
    for (index, (a, b)) in codes(a)?.zip(codes(b)?).enumerate() {
        into.elements += 1;
        for shift in [0, half] {
            let [a, b] = [a, b].map(|code| code >> shift & mask);
            let ulps = ordered(a, half, true).abs_diff(ordered(b, half, true));
            number(index, (float(a), float(b)), (ulps, half), tolerance, into);
        }
    }
    Ok(())
}

fn integers(a: &Tensor, b: &Tensor, into: &mut Difference) -> Result<(), TensorError> {
    let bits = a.elem().bits().unwrap_or(64);
    let is_signed = a.elem().class() == ElemClass::Int;
    let is_bool = a.elem() == ElemType::Bool;
    for (index, (a, b)) in codes(a)?.zip(codes(b)?).enumerate() {
        into.elements += 1;
        let [a, b] = [a, b].map(|code| match code {
            _ if is_bool => i128::from(code != 0),
            _ if is_signed => (code << (128 - bits)).cast_signed() >> (128 - bits),
            _ => code.cast_signed(),
        });
        if a != b {
            let distance = u64::try_from(a.abs_diff(b)).unwrap_or(u64::MAX);
            into.add(index, false, Some((a as f64, b as f64, distance)), || {
                if is_bool {
                    ((a != 0).to_string(), (b != 0).to_string())
                } else {
                    (a.to_string(), b.to_string())
                }
            });
        }
    }
    Ok(())
}
