//! The elements of two tensors, side by side.

use onnx_types::tensor::{NoData, NumberIter, Payload, Tensor, TensorError};
use onnx_types::{ElemClass, ElemType, Interrupt};

use super::tolerance::Tolerance;
use super::{Difference, mixed};
use crate::cx::{Outcome, Stop};
use crate::number::{Elems, Unit};

/// Elements that are compared at once, between two checks of the interrupt.
pub(super) const CHUNK: usize = 1 << 16;

/// Two tensors of equal shape, and of equal type or of two float types.
#[derive(Clone, Copy)]
pub(super) struct Tensors<'a> {
    pub(super) a: &'a Tensor,
    pub(super) b: &'a Tensor,
    pub(super) tolerance: Tolerance,
    pub(super) interrupt: &'a Interrupt,
}

impl Tensors<'_> {
    /// Adds the differences.
    pub(super) fn compare(self, into: &mut Difference) -> Outcome {
        let count = self.a.element_count().unwrap_or_default();
        if matches!((self.a.payload(), self.b.payload()), (Payload::Splat(_), Payload::Splat(_))) && count > 0
        {
            let mut one_element = Difference::default();
            Tensors { a: &one(self.a), b: &one(self.b), ..self }.compare_elements(&mut one_element)?;
            into.merge(one_element.repeated(count));
            return Ok(());
        }
        self.compare_elements(into)
    }

    fn compare_elements(self, into: &mut Difference) -> Outcome {
        into.elements += self.a.element_count().unwrap_or_default();
        match self.a.elem().class() {
            _ if self.a.elem() != self.b.elem() => mixed::floats(self, into),
            ElemClass::String => strings(self, into),
            ElemClass::Float => floats(self, into),
            ElemClass::Complex => complex(self, into),
            _ => integers(self, into),
        }
    }
}

/// The tensor of the one element of a splat.
fn one(splat: &Tensor) -> Tensor {
    Tensor::from_parts(splat.data_type(), [1].into_iter().collect(), splat.payload().clone())
}

fn strings(tensors: Tensors<'_>, into: &mut Difference) -> Outcome {
    let pairs = tensors.a.string_bytes()?.iter().zip(tensors.b.string_bytes()?);
    for (index, (a, b)) in pairs.enumerate() {
        if index.is_multiple_of(CHUNK) {
            tensors.interrupt.check().map_err(Stop::Interrupted)?;
        }
        if a != b {
            let text = |bytes: &[u8]| onnx_diag::Quoted(&String::from_utf8_lossy(bytes)).to_string();
            into.add(index, false, None, || (text(a), text(b)));
        }
    }
    Ok(())
}

/// The bits of the elements of a tensor, each in the lowest bits of a number.
enum Codes<T> {
    All(Elems<T>),
    /// One element is repeated: it is not written out.
    Repeated(T),
}

impl<T: Unit + Copy> Codes<T> {
    fn of(tensor: &Tensor) -> Result<Self, TensorError> {
        if matches!(tensor.payload(), Payload::Splat(_)) {
            let element = T::load(&one(tensor), &NoData)?.first().copied();
            return Ok(Self::Repeated(element.unwrap_or_else(T::zero)));
        }
        Ok(Self::All(T::load(tensor, &NoData)?))
    }

    fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::All(elements) => elements.get(index).copied(),
            Self::Repeated(element) => Some(*element),
        }
    }
}

/// Calls a function with the index and the bits of each pair of elements whose bits are not the same.
fn differing(tensors: Tensors<'_>, found: &mut dyn FnMut(usize, u128, u128)) -> Outcome {
    match tensors.a.elem().bits() {
        Some(0..=8) => differing_as::<u8>(tensors, found),
        Some(16) => differing_as::<u16>(tensors, found),
        Some(32) => differing_as::<u32>(tensors, found),
        Some(64) => differing_as::<u64>(tensors, found),
        _ => differing_as::<u128>(tensors, found),
    }
}

fn differing_as<T: Unit + Copy + Eq + Into<u128>>(
    tensors: Tensors<'_>,
    found: &mut dyn FnMut(usize, u128, u128),
) -> Outcome {
    let count = tensors.a.element_count().and_then(|count| usize::try_from(count).ok());
    let count = count.ok_or(Stop::Limit("run_elements"))?;
    let (a, b) = (Codes::<T>::of(tensors.a)?, Codes::<T>::of(tensors.b)?);
    for start in (0..count).step_by(CHUNK) {
        tensors.interrupt.check().map_err(Stop::Interrupted)?;
        let range = start..count.min(start + CHUNK);
        if let (Codes::All(a), Codes::All(b)) = (&a, &b)
            && a.get(range.clone()) == b.get(range.clone())
        {
            continue;
        }
        for index in range {
            if let (Some(a), Some(b)) = (a.get(index), b.get(index))
                && a != b
            {
                found(index, a.into(), b.into());
            }
        }
    }
    Ok(())
}

/// The numbers at ascending indices.
struct Numbers {
    numbers: NumberIter<f64>,
    next: usize,
}

impl Numbers {
    fn of(tensor: &Tensor) -> Result<Self, TensorError> {
        Ok(Self { numbers: tensor.iter_f64(&NoData)?, next: 0 })
    }

    /// The number at an index that is greater than those before.
    fn at(&mut self, index: usize) -> f64 {
        let number = self.numbers.nth(index - self.next);
        self.next = index + 1;
        number.unwrap_or_default()
    }
}

fn floats(tensors: Tensors<'_>, into: &mut Difference) -> Outcome {
    let elem = tensors.a.elem();
    let bits = elem.bits().unwrap_or(64);
    let is_signed = elem != ElemType::Float8E8M0;
    let (mut numbers_a, mut numbers_b) = (Numbers::of(tensors.a)?, Numbers::of(tensors.b)?);
    differing(tensors, &mut |index, code_a, code_b| {
        let [ordered_a, ordered_b] = [code_a, code_b].map(|code| ordered(code, bits, is_signed));
        let numbers = (numbers_a.at(index), numbers_b.at(index));
        number(index, numbers, (ordered_a.abs_diff(ordered_b), bits), tensors.tolerance, into);
    })
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
pub(super) fn shown(number: f64, bits: u32) -> String {
    if bits <= 32 { format!("{:?}", number as f32) } else { format!("{number:?}") }
}

fn complex(tensors: Tensors<'_>, into: &mut Difference) -> Outcome {
    let half = tensors.a.elem().bits().unwrap_or(128) / 2;
    let float = |code: u128| match half {
        32 => f64::from(f32::from_bits(code as u32)),
        _ => f64::from_bits(code as u64),
    };
    let mask = (1_u128 << half) - 1;
    differing(tensors, &mut |index, a, b| {
        for shift in [0, half] {
            let [a, b] = [a, b].map(|code| code >> shift & mask);
            let ulps = ordered(a, half, true).abs_diff(ordered(b, half, true));
            number(index, (float(a), float(b)), (ulps, half), tensors.tolerance, into);
        }
    })
}

fn integers(tensors: Tensors<'_>, into: &mut Difference) -> Outcome {
    let elem = tensors.a.elem();
    let bits = elem.bits().unwrap_or(64);
    let is_signed = elem.class() == ElemClass::Int;
    let is_bool = elem == ElemType::Bool;
    differing(tensors, &mut |index, a, b| {
        let [a, b] = [a, b].map(|code| match code {
            _ if is_bool => i128::from(code != 0),
            _ if is_signed => (code << (128 - bits)).cast_signed() >> (128 - bits),
            _ => code.cast_signed(),
        });
        if a != b {
            let distance = u64::try_from(a.abs_diff(b)).unwrap_or(u64::MAX);
            // Truth values are not numbers: they differ, and not by an amount.
            let numbers = (!is_bool).then_some((a as f64, b as f64, distance));
            into.add(index, false, numbers, || {
                if is_bool {
                    ((a != 0).to_string(), (b != 0).to_string())
                } else {
                    (a.to_string(), b.to_string())
                }
            });
        }
    })
}
