//! Bytes to tokens, on demand.

/// Whether a name can stand without quotes.
#[inline]
pub(crate) fn is_identifier(name: &[u8]) -> bool {
    match name.split_first() {
        Some((&first, rest)) => {
            (first.is_ascii_alphabetic() || first == b'_')
                && rest.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }
        None => false,
    }
}

/// Whether a word begins a type.
pub(crate) fn is_type_word(word: &[u8]) -> bool {
    matches!(word, b"seq" | b"optional" | b"map" | b"sparse_tensor" | b"opaque")
        || element_type(word).is_some()
}

/// The element type that a word of the syntax names.
pub(crate) fn element_type(word: &[u8]) -> Option<onnx_types::ElemType> {
    use onnx_types::ElemType as E;
    Some(match word {
        b"float" => E::Float,
        b"double" => E::Double,
        b"float16" => E::Float16,
        b"bfloat16" => E::Bfloat16,
        b"int8" => E::Int8,
        b"int16" => E::Int16,
        b"int32" => E::Int32,
        b"int64" => E::Int64,
        b"uint8" => E::Uint8,
        b"uint16" => E::Uint16,
        b"uint32" => E::Uint32,
        b"uint64" => E::Uint64,
        b"bool" => E::Bool,
        b"string" => E::String,
        b"complex64" => E::Complex64,
        b"complex128" => E::Complex128,
        b"float8e4m3fn" => E::Float8E4M3Fn,
        b"float8e4m3fnuz" => E::Float8E4M3Fnuz,
        b"float8e5m2" => E::Float8E5M2,
        b"float8e5m2fnuz" => E::Float8E5M2Fnuz,
        b"float8e8m0" => E::Float8E8M0,
        b"uint4" => E::Uint4,
        b"int4" => E::Int4,
        b"float4e2m1" => E::Float4E2M1,
        b"uint2" => E::Uint2,
        b"int2" => E::Int2,
        b"float6e2m3" => E::Float6E2M3,
        b"float6e3m2" => E::Float6E3M2,
        _ => return None,
    })
}

/// Whether a word is a number: infinity or no number.
pub(crate) fn is_float_word(word: &[u8]) -> bool {
    [&b"inf"[..], b"infinity", b"nan"].iter().any(|float| word.eq_ignore_ascii_case(float))
}
