//! `Cast`, `CastLike`: the same elements in another type.
//!
//! * Float to float: rounded once, to nearest even. With `saturate`, a number beyond the range of an 8-bit float becomes its
//!   greatest number; without, infinity or NaN. `float8e8m0` rounds as `round_mode` specifies.
//!   The text of the versions 19 to 23 lets an infinity become NaN in the FNUZ types also with `saturate`. That is an error of
//!   the text: the reference and onnxruntime return the greatest number in all versions, and so says the table
//!   of version 24. It is the greatest number here in all versions, too.
//! * Float to integer: toward zero. The specification leaves NaN and numbers beyond the integer open; here NaN becomes 0, and
//!   others the low bits of the 64-bit integer that is nearest, as in the official vectors for 4- and 2-bit integers. Results
//!   of runtimes depend on the processor.
//! * Integer to integer: the low bits. To `bool`: `false` for 0 and -0, `true` for all other values, NaN included.
//! * To string: the shortest text that reads back as the same number, `NaN`, `INF` and `-INF`. From string: blanks around the
//!   number are ignored, `INF`, `+INF`, `-INF` and `NaN` are case-insensitive; a text that is not a number fails the run.

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::{
    F4E2M1, F6E2M3, F6E3M2, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, Payload, PowerRounding, bf16,
    f16,
};

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::interrupt_poll::InterruptPoll;
use crate::number::{Elems, Number, Unit, integer_range};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::CAST, &[since(1, by_name), since(6, by_code)]),
    eval(op::CAST_LIKE, &[since(15, like_second)]),
];

fn by_name(cx: &mut Cx<'_, '_>) -> Outcome {
    let name = cx.text(attr::TO)?;
    match ElemType::all().find(|elem| elem.proto_name() == name || elem.name() == name) {
        Some(elem) if elem != ElemType::Undefined => cast(cx, cx.in_force(elem)),
        _ => Err(Stop::failed("attribute `to` names no element type")),
    }
}

fn by_code(cx: &mut Cx<'_, '_>) -> Outcome {
    let to = cx.elem_attribute(attr::TO)?.ok_or_else(|| Stop::failed("attribute `to` is missing"))?;
    cast(cx, to)
}

fn like_second(cx: &mut Cx<'_, '_>) -> Outcome {
    let to = cx.tensor(1)?.elem;
    cast(cx, to)
}

/// The elements that are converted.
enum Source {
    Floats(Elems<f64>),
    Ints(Elems<i64>),
    Uints(Elems<u64>),
    Texts(Elems<Bytes>),
}

fn cast(cx: &mut Cx<'_, '_>, to: ElemType) -> Outcome {
    let x = cx.tensor(0)?;
    if x.elem == to {
        return cx.put_value(0, x.tensor);
    }
    if cx.is_double && to == ElemType::String && x.elem == ElemType::Double {
        return Err(Stop::unsupported("the digits of a float that is computed in 64 bits"));
    }
    let payload = payload(cx, &x, to)?;
    let tensor = cx.tensor_of(to, &x.dims, payload)?;
    cx.put_value(0, tensor)
}

/// The elements of an operand in another type.
pub(in crate::ops) fn payload(cx: &mut Cx<'_, '_>, x: &Operand, to: ElemType) -> Outcome<Payload> {
    if x.elem == to {
        return Ok(x.tensor.payload().clone());
    }
    let source = source(cx, x)?;
    // The elements while they are read, and the payload; of strings, their records twice and the digits.
    let size = match (to, x.elem) {
        (ElemType::String, _) => 4 * size_of::<Bytes>(),
        (_, ElemType::String) => 4 * size_of::<i128>(),
        _ => 2 * size_of::<f64>(),
    };
    cx.budget.allocate(x.count, size)?;
    if to == ElemType::String {
        return Ok(Payload::strings(texts(cx.poll(), &source, x.elem)?));
    }
    if to.is_float() {
        let rounding = match cx.text(attr::ROUND_MODE)? {
            "down" => PowerRounding::Down,
            "nearest" => PowerRounding::Nearest,
            _ => PowerRounding::Up,
        };
        let saturate = cx.int_or(attr::SATURATE, 1)? != 0;
        return floats(cx.poll(), to, source, saturate, rounding);
    }
    integers(cx.poll(), to, source)
}

fn source(cx: &mut Cx<'_, '_>, x: &Operand) -> Outcome<Source> {
    Ok(match x.elem {
        ElemType::String => Source::Texts(cx.units::<Bytes>(x)?),
        ElemType::Uint64 => Source::Uints(cx.read::<u64>(x)?),
        elem if elem.is_float() => Source::Floats(cx.read_f64(x)?),
        ElemType::Complex64 | ElemType::Complex128 | ElemType::Undefined => {
            return Err(Stop::unsupported_type(x.elem));
        }
        _ => Source::Ints(cx.read::<i64>(x)?),
    })
}

/// The payload of floats of a type.
fn floats(
    poll: &mut InterruptPoll,
    to: ElemType,
    source: Source,
    saturate: bool,
    rounding: PowerRounding,
) -> Outcome<Payload> {
    let values: Vec<f64> = match source {
        Source::Floats(values) => values.into_vec(),
        Source::Ints(values) if to == ElemType::Double => values.iter().map(|&value| value as f64).collect(),
        Source::Uints(values) if to == ElemType::Double => values.iter().map(|&value| value as f64).collect(),
        Source::Ints(values) => poll.mapped(&values, |&value| odd_f64(i128::from(value)))?,
        Source::Uints(values) => poll.mapped(&values, |&value| odd_f64(i128::from(value)))?,
        Source::Texts(texts) => {
            let read = |text: &Bytes| parse(text)?.parse::<f64>().map_err(|_| unreadable(text));
            poll.mapped(&texts, read)?.into_iter().collect::<Outcome<_>>()?
        }
    };
    Ok(round_to(to, &values, saturate, rounding))
}

/// The payload of numbers, each rounded once to a float type.
pub(crate) fn round_to(to: ElemType, values: &[f64], saturate: bool, rounding: PowerRounding) -> Payload {
    use ElemType as E;
    let codes = |code: &dyn Fn(f64) -> u8| u8::store(to, values.iter().map(|&value| code(value)).collect());
    match to {
        E::Double => f64::store(to, values.to_vec()),
        E::Float16 => u16::store(to, values.iter().map(|&x| f16::from_f32(odd_f32(x)).to_bits()).collect()),
        E::Bfloat16 => u16::store(to, values.iter().map(|&x| bf16::from_f32(odd_f32(x)).to_bits()).collect()),
        E::Float8E4M3Fn => codes(&|x| F8E4M3Fn::from_f64(x, saturate).to_bits()),
        E::Float8E4M3Fnuz => codes(&|x| F8E4M3Fnuz::from_f64(x, saturate).to_bits()),
        E::Float8E5M2 => codes(&|x| F8E5M2::from_f64(x, saturate).to_bits()),
        E::Float8E5M2Fnuz => codes(&|x| F8E5M2Fnuz::from_f64(x, saturate).to_bits()),
        E::Float8E8M0 => codes(&|x| F8E8M0::from_f64(x, rounding, saturate).to_bits()),
        E::Float4E2M1 => codes(&|x| F4E2M1::from_f64(x).to_bits()),
        E::Float6E2M3 => codes(&|x| F6E2M3::from_f64(x).to_bits()),
        E::Float6E3M2 => codes(&|x| F6E3M2::from_f64(x).to_bits()),
        _ => f32::store(to, values.iter().map(|&x| x as f32).collect()),
    }
}

/// Sets an output to real numbers: floats are rounded to nearest, integers too, with ties to even, and then saturated; NaN is
/// the integer 0.
pub(crate) fn put_real(
    cx: &mut Cx<'_, '_>,
    index: usize,
    elem: ElemType,
    dims: &[usize],
    values: &[f64],
) -> Outcome {
    if elem.is_float() {
        cx.budget.convert(values.len(), size_of::<f64>())?;
        let payload = round_to(elem, values, true, Default::default());
        let tensor = cx.tensor_of(elem, dims, payload)?;
        return cx.put_value(index, tensor);
    }
    let (low, high) = integer_range(elem)?;
    let whole = values.iter().map(|&value| (libm::rint(value) as i128).clamp(low, high));
    if elem == ElemType::Uint64 {
        let values = cx.collect(whole.map(|value| value as u64))?;
        return cx.put::<u64>(index, elem, dims, values);
    }
    let values = cx.collect(whole.map(|value| value as i64))?;
    cx.put::<i64>(index, elem, dims, values)
}

/// An integer as a float that is rounded to odd: rounding it again to a narrower float gives what rounding the integer once
/// does.
fn odd_f64(value: i128) -> f64 {
    let near = value as f64;
    if near as i128 == value {
        return near;
    }
    let is_beyond = (near as i128).unsigned_abs() > value.unsigned_abs();
    let toward_zero = if is_beyond { near.to_bits() - 1 } else { near.to_bits() };
    f64::from_bits(toward_zero | 1)
}

/// The same for a `double` that becomes a float of at most 22 bits.
fn odd_f32(value: f64) -> f32 {
    let near = value as f32;
    if value.is_nan() || f64::from(near) == value {
        return near;
    }
    let is_beyond = f64::from(near).abs() > value.abs();
    let toward_zero = if is_beyond { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

/// The payload of integers or truth values of a type.
fn integers(poll: &mut InterruptPoll, to: ElemType, source: Source) -> Outcome<Payload> {
    let is_bool = to == ElemType::Bool;
    if to == ElemType::Uint64 {
        let values = match source {
            Source::Floats(values) => poll.mapped(&values, |&value| u64::of_f64(value))?,
            Source::Ints(values) => values.iter().map(|&value| value.cast_unsigned()).collect(),
            Source::Uints(values) => values.into_vec(),
            Source::Texts(texts) => whole(poll, &texts, to)?.into_iter().map(|value| value as u64).collect(),
        };
        return Ok(u64::encode(to, values));
    }
    let fitted = |value: f64| if is_bool { i64::from(value != 0.0) } else { value as i64 };
    let values = match source {
        Source::Floats(values) => poll.mapped(&values, |&value| fitted(value))?,
        Source::Ints(values) => values.into_vec(),
        Source::Uints(values) => values
            .iter()
            .map(|&value| if is_bool { i64::from(value != 0) } else { value.cast_signed() })
            .collect(),
        Source::Texts(texts) => whole(poll, &texts, to)?.into_iter().map(|value| value as i64).collect(),
    };
    Ok(i64::encode(to, values))
}

fn whole(poll: &mut InterruptPoll, texts: &[Bytes], to: ElemType) -> Outcome<Vec<i128>> {
    let (low, high) = integer_range(to)?;
    let read = |text: &Bytes| {
        let text = parse(text)?;
        if let Ok(value) = text.parse::<i128>() {
            return Ok(value.clamp(low, high));
        }
        let value = text.parse::<f64>().map_err(|_| unreadable(text.as_bytes()))?;
        Ok(if to == ElemType::Bool { i128::from(value != 0.0) } else { (value as i128).clamp(low, high) })
    };
    poll.mapped(texts, read)?.into_iter().collect()
}

fn unreadable(text: &[u8]) -> Stop {
    let text = String::from_utf8_lossy(text).into_owned();
    Stop::failed(format_args!("{} is not a number", onnx_diag::Quoted(&text)))
}

fn parse(text: &[u8]) -> Outcome<&str> {
    std::str::from_utf8(text).map(str::trim).map_err(|_| unreadable(text))
}

fn texts(poll: &mut InterruptPoll, source: &Source, from: ElemType) -> Outcome<Vec<Bytes>> {
    match source {
        // A narrow type has few numbers, and the shortest text of one takes long to find.
        Source::Floats(values) if from.bits().is_some_and(|bits| bits <= 16) => {
            let known: RefCell<HashMap<u64, Bytes, RandomState>> = RefCell::default();
            poll.mapped(values, |&value| {
                let text = || Bytes::from(number_text(value, from));
                known.borrow_mut().entry(value.to_bits()).or_insert_with(text).clone()
            })
        }
        Source::Floats(values) => poll.mapped(values, |&value| number_text(value, from).into()),
        Source::Ints(values) if from == ElemType::Bool => {
            poll.mapped(values, |&value| Bytes::from_static(if value != 0 { b"True" } else { b"False" }))
        }
        Source::Ints(values) => poll.mapped(values, |value| value.to_string().into()),
        Source::Uints(values) => poll.mapped(values, |value| value.to_string().into()),
        Source::Texts(texts) => Ok(texts.to_vec()),
    }
}

/// The shortest text that reads back as the number in its type.
fn number_text(value: f64, elem: ElemType) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    match elem {
        ElemType::Double => format!("{value:?}"),
        ElemType::Float16 => format!("{:?}", shortest(value, |text| f16::from_f32(odd_f32(text)).to_f64())),
        ElemType::Bfloat16 => format!("{:?}", shortest(value, |text| bf16::from_f32(odd_f32(text)).to_f64())),
        _ => format!("{:?}", value as f32),
    }
}

/// The number with the fewest digits that is rounded to the given one.
fn shortest(value: f64, round: impl Fn(f64) -> f64) -> f64 {
    let candidates = (0..8).filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok());
    candidates.into_iter().find(|&candidate| round(candidate) == value).unwrap_or(value)
}
