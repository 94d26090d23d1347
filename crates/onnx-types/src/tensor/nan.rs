//! The search for floats that are not numbers.

use crate::ElemType;

/// Whether one of some little-endian floats, as [`Tensor::bytes`](super::Tensor::bytes) has them, is NaN. `None` for types other than
/// the floats of 16, 32 and 64 bits.
///
/// It takes as long as reading the bytes does: elements are compared as integers, several at a time.
///
/// ```
/// use onnx_types::ElemType;
/// use onnx_types::tensor::any_nan;
///
/// let bytes = [1.0_f32, f32::NAN].map(f32::to_le_bytes).concat();
/// assert_eq!(any_nan(ElemType::Float, &bytes), Some(true));
/// assert_eq!(any_nan(ElemType::Float, &bytes[..4]), Some(false));
/// assert_eq!(any_nan(ElemType::Int32, &bytes), None);
/// ```
#[must_use]
pub fn any_nan(elem: ElemType, bytes: &[u8]) -> Option<bool> {
    // Without the sign, the bits of NaN are a greater integer than those of infinity.
    let of_16 = |infinity: u16| {
        let elements = bytes.as_chunks().0.iter().map(|&element| u16::from_le_bytes(element));
        elements.fold(false, |any, bits| any | (bits & (u16::MAX >> 1) > infinity))
    };
    let of_32 = || {
        let elements = bytes.as_chunks().0.iter().map(|&element| u32::from_le_bytes(element));
        elements.fold(false, |any, bits| any | (bits & (u32::MAX >> 1) > f32::INFINITY.to_bits()))
    };
    let of_64 = || {
        let elements = bytes.as_chunks().0.iter().map(|&element| u64::from_le_bytes(element));
        elements.fold(false, |any, bits| any | (bits & (u64::MAX >> 1) > f64::INFINITY.to_bits()))
    };
    Some(match elem {
        ElemType::Float => of_32(),
        ElemType::Double => of_64(),
        ElemType::Float16 => of_16(half::f16::INFINITY.to_bits()),
        ElemType::Bfloat16 => of_16(half::bf16::INFINITY.to_bits()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn only_nan_is_found() {
        let with = |elem: ElemType, numbers: &[Vec<u8>]| any_nan(elem, &numbers.concat());
        let numbers = [0.0, -0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY];
        for nan in [None, Some(f64::NAN), Some(-f64::NAN)] {
            for place in 0..=numbers.len() {
                let mut all = numbers.to_vec();
                nan.into_iter().for_each(|nan| all.insert(place, nan));
                let bytes =
                    |to: &dyn Fn(f64) -> Vec<u8>| all.iter().map(|&number| to(number)).collect::<Vec<_>>();
                let wanted = Some(nan.is_some());
                assert_eq!(with(ElemType::Double, &bytes(&|x| x.to_le_bytes().to_vec())), wanted);
                assert_eq!(with(ElemType::Float, &bytes(&|x| (x as f32).to_le_bytes().to_vec())), wanted);
                assert_eq!(
                    with(ElemType::Float16, &bytes(&|x| f16::from_f64(x).to_le_bytes().to_vec())),
                    wanted
                );
                assert_eq!(
                    with(ElemType::Bfloat16, &bytes(&|x| bf16::from_f64(x).to_le_bytes().to_vec())),
                    wanted
                );
            }
        }
        // Signaling ones, and those with a small payload.
        assert_eq!(any_nan(ElemType::Float, &0x7f80_0001_u32.to_le_bytes()), Some(true));
        assert_eq!(any_nan(ElemType::Float16, &0xfc01_u16.to_le_bytes()), Some(true));
    }
}
