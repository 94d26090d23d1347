//! Reading and writing of elements that are computed in another type than they are stored in.

use bytes::Bytes;

use onnx_types::ElemType;
use onnx_types::tensor::{
    DataSource, F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, I2, I4, Payload,
    PowerRounding, Tensor, TensorError, U2, U4, bf16, f16,
};

use super::{Elems, Unit};

pub(super) fn decode_f32(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<f32>, TensorError> {
    Ok(match tensor.elem() {
        ElemType::Float => f32::load(tensor, data)?,
        ElemType::Float16 => Elems::owned(tensor.view::<f16>(data)?.iter().map(f16::to_f32).collect()),
        ElemType::Bfloat16 => Elems::owned(tensor.view::<bf16>(data)?.iter().map(bf16::to_f32).collect()),
        found if found.is_float() && found != ElemType::Double => {
            Elems::owned(tensor.iter_f64(data)?.map(|value| value as f32).collect())
        }
        found => return Err(TensorError::WrongType { wanted: "floats of at most 32 bits", found }),
    })
}

pub(super) fn decode_f64(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<f64>, TensorError> {
    match tensor.elem() {
        ElemType::Double => f64::load(tensor, data),
        found => Err(TensorError::WrongType { wanted: "double", found }),
    }
}

pub(super) fn decode_i64(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<i64>, TensorError> {
    Ok(match tensor.elem() {
        ElemType::Int64 => i64::load(tensor, data)?,
        ElemType::Int32 => Elems::owned(tensor.view::<i32>(data)?.iter().map(i64::from).collect()),
        ElemType::Uint8 => Elems::owned(tensor.view::<u8>(data)?.iter().map(i64::from).collect()),
        ElemType::Bool => Elems::owned(tensor.view::<bool>(data)?.iter().map(i64::from).collect()),
        ElemType::Uint64 => {
            return Err(TensorError::WrongType { wanted: "signed integers", found: ElemType::Uint64 });
        }
        _ => Elems::owned(tensor.iter_i64(data)?.collect()),
    })
}

pub(super) fn decode_u64(tensor: &Tensor, data: &dyn DataSource) -> Result<Elems<u64>, TensorError> {
    match tensor.elem() {
        ElemType::Uint64 => u64::load(tensor, data),
        found => Err(TensorError::WrongType { wanted: "uint64", found }),
    }
}

/// Bytes of elements that take one byte each.
fn bytewise<T: Copy>(elem: ElemType, elements: &[T], code: impl Fn(T) -> u8) -> Payload {
    let codes: Vec<u8> = elements.iter().map(|&element| code(element)).collect();
    Payload::Raw(packed(elem, codes.into()))
}

pub(super) fn encode_f32(elem: ElemType, elements: Vec<f32>) -> Payload {
    use ElemType as E;
    match elem {
        E::Float16 => u16::store(elem, elements.iter().map(|&x| f16::from_f32(x).to_bits()).collect()),
        E::Bfloat16 => u16::store(elem, elements.iter().map(|&x| bf16::from_f32(x).to_bits()).collect()),
        E::Float8E4M3Fn => bytewise(elem, &elements, |x| F8E4M3Fn::from_f32(x, true).to_bits()),
        E::Float8E4M3Fnuz => bytewise(elem, &elements, |x| F8E4M3Fnuz::from_f32(x, true).to_bits()),
        E::Float8E5M2 => bytewise(elem, &elements, |x| F8E5M2::from_f32(x, true).to_bits()),
        E::Float8E5M2Fnuz => bytewise(elem, &elements, |x| F8E5M2Fnuz::from_f32(x, true).to_bits()),
        E::Float8E8M0 => {
            bytewise(elem, &elements, |x| F8E8M0::from_f32(x, PowerRounding::Up, true).to_bits())
        }
        E::Float4E2M1 => bytewise(elem, &elements, |x| F4E2M1::from_f32(x).to_bits()),
        E::Float6E2M3 => bytewise(elem, &elements, |x| F6E2M3::from_f32(x).to_bits()),
        E::Float6E3M2 => bytewise(elem, &elements, |x| F6E3M2::from_f32(x).to_bits()),
        _ => f32::store(elem, elements),
    }
}

pub(super) fn encode_f64(elem: ElemType, elements: Vec<f64>) -> Payload {
    f64::store(elem, elements)
}

pub(super) fn encode_i64(elem: ElemType, elements: Vec<i64>) -> Payload {
    use ElemType as E;
    match elem {
        E::Int8 | E::Uint8 => bytewise(elem, &elements, |x| x as u8),
        E::Bool => bytewise(elem, &elements, |x| u8::from(x != 0)),
        E::Int16 | E::Uint16 => u16::store(elem, elements.iter().map(|&x| x as u16).collect()),
        E::Int32 | E::Uint32 => u32::store(elem, elements.iter().map(|&x| x as u32).collect()),
        E::Int4 => bytewise(elem, &elements, |x| I4::from_bits(x as u8).to_bits()),
        E::Uint4 => bytewise(elem, &elements, |x| U4::from_bits(x as u8).to_bits()),
        E::Int2 => bytewise(elem, &elements, |x| I2::from_bits(x as u8).to_bits()),
        E::Uint2 => bytewise(elem, &elements, |x| U2::from_bits(x as u8).to_bits()),
        _ => i64::store(elem, elements),
    }
}

pub(super) fn encode_u64(elem: ElemType, elements: Vec<u64>) -> Payload {
    u64::store(elem, elements)
}

/// The codes of elements narrower than a byte, one in each byte; `None` for other types.
pub(super) fn unpacked(tensor: &Tensor, data: &dyn DataSource) -> Result<Option<Vec<u8>>, TensorError> {
    let Some(bits @ ..8) = tensor.elem().bits() else { return Ok(None) };
    let count = usize::try_from(tensor.element_count().unwrap_or(0)).unwrap_or(usize::MAX);
    let bytes = tensor.bytes(data)?;
    let mask = (1_u16 << bits) - 1;
    let code = |index: usize| {
        let position = index * bits as usize;
        let low = u16::from(bytes.get(position / 8).copied().unwrap_or(0));
        let high = u16::from(bytes.get(position / 8 + 1).copied().unwrap_or(0));
        ((low | high << 8) >> (position % 8) & mask) as u8
    };
    // As many elements as the bytes hold: a valid tensor has enough of them.
    Ok(Some((0..count.min(bytes.len() * 8 / bits as usize)).map(code).collect()))
}

/// The bytes of codes that are given one per byte: packed if the type is narrower than a byte.
pub(super) fn packed(elem: ElemType, codes: Bytes) -> Bytes {
    let Some(bits @ ..8) = elem.bits() else { return codes };
    let mut packed = Vec::with_capacity((codes.len() * bits as usize).div_ceil(8));
    let (mut word, mut filled) = (0_u32, 0);
    for &code in &codes {
        word |= (u32::from(code) & ((1 << bits) - 1)) << filled;
        filled += bits;
        while filled >= 8 {
            packed.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        packed.push(word as u8);
    }
    packed.into()
}
