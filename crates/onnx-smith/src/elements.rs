//! Tensors of small numbers, in every element type and in each field that can hold them.

use bytes::Bytes;
use onnx_ir::SparseTensor;
use onnx_types::tensor::{
    Complex, Element, F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4,
    Payload, PowerRounding, Tensor, TensorFault, U2, U4, Varints, bf16, f16,
};
use onnx_types::{ElemType, FieldForms, Storage};

/// The words that stand for numbers in tensors of strings.
const WORDS: [&str; 8] = ["a", "b", "ab", "cat", "dog", "été", "1", "0.5"];

/// A tensor of the given numbers; what a type cannot hold becomes the nearest that it can. `None` where the numbers are not
/// as many as the dimensions say, or the type is undefined.
pub(crate) fn tensor(elem: ElemType, dims: &[i64], numbers: &[i64]) -> Option<Tensor> {
    use ElemType as E;
    let numbers = Numbers { dims, numbers };
    match elem {
        E::Undefined => None,
        E::Float => numbers.make(|n| n as f32),
        E::Double => numbers.make(|n| n as f64),
        E::Float16 => numbers.make(|n| f16::from_f32(n as f32)),
        E::Bfloat16 => numbers.make(|n| bf16::from_f32(n as f32)),
        E::Float8E4M3Fn => numbers.make(|n| F8E4M3Fn::from_f32(n as f32, true)),
        E::Float8E4M3Fnuz => numbers.make(|n| F8E4M3Fnuz::from_f32(n as f32, true)),
        E::Float8E5M2 => numbers.make(|n| F8E5M2::from_f32(n as f32, true)),
        E::Float8E5M2Fnuz => numbers.make(|n| F8E5M2Fnuz::from_f32(n as f32, true)),
        E::Float8E8M0 => numbers.make(|n| F8E8M0::from_f32(n as f32, PowerRounding::Up, true)),
        E::Float4E2M1 => numbers.make(|n| F4E2M1::from_f32(n as f32)),
        E::Float6E2M3 => numbers.make(|n| F6E2M3::from_f32(n as f32)),
        E::Float6E3M2 => numbers.make(|n| F6E3M2::from_f32(n as f32)),
        E::Int8 => numbers.make(|n| n.clamp(-128, 127) as i8),
        E::Int16 => numbers.make(|n| n as i16),
        E::Int32 => numbers.make(|n| n as i32),
        E::Int64 => numbers.make(|n| n),
        E::Uint8 => numbers.make(|n| n.unsigned_abs() as u8),
        E::Uint16 => numbers.make(|n| n.unsigned_abs() as u16),
        E::Uint32 => numbers.make(|n| n.unsigned_abs() as u32),
        E::Uint64 => numbers.make(i64::unsigned_abs),
        E::Bool => numbers.make(|n| n != 0),
        E::Int4 => numbers.make(|n| I4::from_bits((n & 7) as u8)),
        E::Uint4 => numbers.make(|n| U4::from_bits((n & 15) as u8)),
        E::Int2 => numbers.make(|n| I2::from_bits((n & 1) as u8)),
        E::Uint2 => numbers.make(|n| U2::from_bits((n & 3) as u8)),
        E::Complex64 => numbers.make(|n| Complex::new(n as f32, 1.0_f32)),
        E::Complex128 => numbers.make(|n| Complex::new(n as f64, 1.0_f64)),
        E::String => {
            let word = |n: &i64| {
                let index = usize::try_from(n.unsigned_abs()).unwrap_or(0) % WORDS.len();
                WORDS.get(index).copied().unwrap_or_default()
            };
            Tensor::from_strings(dims.iter().copied(), numbers.numbers.iter().map(word)).ok()
        }
        _ => None,
    }
}

/// Numbers on their way into a tensor.
struct Numbers<'n> {
    dims: &'n [i64],
    numbers: &'n [i64],
}

impl Numbers<'_> {
    fn make<T: Element>(&self, convert: impl Fn(i64) -> T) -> Option<Tensor> {
        let elements: Vec<T> = self.numbers.iter().map(|&number| convert(number)).collect();
        let made: Result<Tensor, TensorFault> = Tensor::from_slice(self.dims.iter().copied(), &elements);
        made.ok()
    }
}

/// The same tensor with its elements in the typed field of its type instead of `raw_data`; `None` where it has no other
/// form.
pub(crate) fn typed(tensor: &Tensor) -> Option<Tensor> {
    let Payload::Raw(raw) = tensor.payload() else { return None };
    let elem = tensor.elem();
    let wide = |size: usize| -> Vec<u64> {
        let number = |chunk: &[u8]| chunk.iter().rev().fold(0, |all: u64, &byte| all << 8 | u64::from(byte));
        raw.chunks(size).map(number).collect()
    };
    let size = usize::try_from(elem.bits()?.div_ceil(8)).ok()?;
    let payload = match elem.storage() {
        Storage::Float => Payload::Floats(Bytes::clone(raw)),
        Storage::Double => Payload::Doubles(Bytes::clone(raw)),
        Storage::Int64 => Payload::Int64s(Varints::from_u64s(wide(8))),
        Storage::Uint64 => Payload::Uint64s(Varints::from_u64s(wide(size))),
        // 6-bit codes are packed differently there.
        Storage::Int32 if elem.bits() == Some(6) => return None,
        Storage::Int32 => {
            let signed = |bits: u64| match elem {
                ElemType::Int8 => i32::from((bits as u8).cast_signed()),
                ElemType::Int16 => i32::from((bits as u16).cast_signed()),
                _ => (bits as u32).cast_signed(),
            };
            Payload::Int32s(Varints::from_i32s(wide(size).into_iter().map(signed)))
        }
        _ => return None,
    };
    Some(Tensor::from_parts(elem.code(), tensor.dims().iter().copied().collect(), payload))
}

/// A sparse tensor with two elements that are not zero, placed by one number each or by one for each axis.
pub(crate) fn sparse(elem: ElemType, is_linear: bool) -> Option<SparseTensor> {
    let (dims, numbers): (&[i64], &[i64]) =
        if is_linear { (&[2], &[1, 4]) } else { (&[2, 2], &[0, 1, 1, 1]) };
    Some(SparseTensor {
        values: Some(tensor(elem, &[2], &[1, 2])?),
        indices: tensor(ElemType::Int64, dims, numbers),
        dims: [2, 3].into_iter().collect(),
        forms: FieldForms::CANONICAL,
        unknown: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::NoData;

    use super::*;

    #[test]
    fn both_forms_hold_the_same_elements() {
        let numbers = [3, -1, 0, 2, 1, -2, 5];
        for elem in ElemType::all().skip(1) {
            let raw = tensor(elem, &[7], &numbers).unwrap();
            assert!(raw.faults().is_empty(), "{elem}");
            let Some(typed) = typed(&raw) else { continue };
            assert_eq!(raw.bytes(&NoData).unwrap(), typed.bytes(&NoData).unwrap(), "{elem}");
        }
        assert!(tensor(ElemType::Float, &[2], &numbers).is_none());
    }
}
