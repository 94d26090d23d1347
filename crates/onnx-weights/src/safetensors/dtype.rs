//! The types of the format.

use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

/// The names of types, with those of ONNX.
const TYPES: &[(&str, ElemType)] = &[
    ("BOOL", ElemType::Bool),
    ("U8", ElemType::Uint8),
    ("I8", ElemType::Int8),
    ("U16", ElemType::Uint16),
    ("I16", ElemType::Int16),
    ("U32", ElemType::Uint32),
    ("I32", ElemType::Int32),
    ("U64", ElemType::Uint64),
    ("I64", ElemType::Int64),
    ("F16", ElemType::Float16),
    ("BF16", ElemType::Bfloat16),
    ("F32", ElemType::Float),
    ("F64", ElemType::Double),
    ("C64", ElemType::Complex64),
    ("F8_E4M3", ElemType::Float8E4M3Fn),
    ("F8_E5M2", ElemType::Float8E5M2),
    ("F8_E8M0", ElemType::Float8E8M0),
];

/// The type of a name.
pub(super) fn elem(name: &str) -> Option<ElemType> {
    TYPES.iter().find(|(known, _)| *known == name).map(|&(_, elem)| elem)
}

/// The name of a type, if the format has it.
pub(super) fn name(elem: ElemType) -> Option<&'static str> {
    TYPES.iter().find(|&&(_, known)| known == elem).map(|&(name, _)| name)
}

/// Whether a type without a name can be stored as bytes: all but strings.
pub(super) fn is_storable(elem: ElemType) -> bool {
    elem.bits().is_some()
}

/// Bytes of a tensor of the format; `None` if 64 bits cannot count them, or if the type is not known here. Types of other widths
/// than whole bytes are not known.
pub(super) fn byte_len(dtype: &str, dims: &[u64]) -> Option<u64> {
    let width = u64::from(elem(dtype)?.bits()?) / 8;
    // A size of 0 does not make other sizes valid that no tensor can have.
    if dims.iter().any(|&dim| i64::try_from(dim).is_err()) {
        return None;
    }
    let elements = dims.iter().try_fold(1_u64, |count, &dim| count.checked_mul(dim))?;
    elements.checked_mul(width)
}

/// Type and dimensions as metadata: `int4 2 3`.
pub(super) fn stated(tensor: &Tensor) -> String {
    let mut text = tensor.elem().name().to_owned();
    for dim in tensor.dims() {
        text.push_str(&format!(" {dim}"));
    }
    text
}

/// Reads what [`stated`] writes.
pub(super) fn parse_stated(text: &str) -> Option<(ElemType, Vec<i64>)> {
    let mut words = text.split(' ');
    let elem = ElemType::from_name(words.next()?).filter(|&elem| is_storable(elem))?;
    let dims: Option<Vec<i64>> = words.map(|word| word.parse().ok().filter(|&dim: &i64| dim >= 0)).collect();
    Some((elem, dims?))
}
