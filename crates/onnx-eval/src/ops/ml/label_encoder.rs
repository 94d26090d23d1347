//! `LabelEncoder`: keys to values, element by element.
//!
//! Since version 4 the last of equal keys counts and a NaN among the keys matches every NaN, as the specification says. It
//! says nothing about version 2, where the first of equal keys counts and NaN matches nothing, nor about version 1, where the
//! last counts: so does onnxruntime. 0 and -0 are equal.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_ir::AttrValue;
use onnx_schema::{attr, domain, op};
use onnx_types::{ElemType, Symbol};

use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::engine::constant::dense;
use crate::number::{Number, Unit, by_number, by_unit};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::LABEL_ENCODER,
    &[since(1, classes), since(2, |cx| encode(cx, false)), since(4, |cx| encode(cx, true))],
)
.of(domain::ML);

fn classes(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let texts = cx.texts(attr::CLASSES_STRINGS)?.unwrap_or_default();
    if x.elem == ElemType::String {
        let otherwise = cx.int_or(attr::DEFAULT_INT64, -1)?;
        let table: HashMap<&[u8], usize, RandomState> =
            texts.iter().enumerate().map(|(index, &text)| (text, index)).collect();
        let elements = cx.units::<Bytes>(&x)?;
        let mut out = cx.buffer(x.count)?;
        let label = |text: &Bytes| table.get(text.as_ref()).map_or(otherwise, |&index| index as i64);
        out.extend(elements.iter().map(label));
        return cx.put(0, ElemType::Int64, &x.dims, out);
    }
    let otherwise = cx.text(attr::DEFAULT_STRING)?.as_bytes();
    let texts: Vec<Bytes> = texts.into_iter().map(Bytes::copy_from_slice).collect();
    let otherwise = Bytes::copy_from_slice(otherwise);
    let elements = cx.read::<i64>(&x)?;
    let mut out = cx.buffer(x.count)?;
    let label = |&index: &i64| usize::try_from(index).ok().and_then(|index| texts.get(index));
    out.extend(elements.iter().map(|index| label(index).unwrap_or(&otherwise).clone()));
    cx.put_units(0, ElemType::String, &x.dims, out)
}

/// An element as a key: floats by their bits, where all NaNs and both zeros are one.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Text(Bytes),
    Int(i128),
    Float(u64),
}

/// The elements of a tensor as keys; `None` for NaN where it matches nothing.
fn keys(cx: &mut Cx<'_, '_>, x: &Operand, with_nan: bool) -> Outcome<Vec<Option<Key>>> {
    let mut keys = cx.buffer(x.count)?;
    if x.elem == ElemType::String {
        keys.extend(cx.units::<Bytes>(x)?.iter().map(|text| Some(Key::Text(text.clone()))));
        return Ok(keys);
    }
    by_number!(x.elem, T => {
        let elements = cx.read::<T>(x)?;
        let key = |&value: &T| {
            if !T::IS_FLOAT {
                return Some(Key::Int(value.exact()));
            }
            let plain = if value.is_nan() { f64::NAN } else { value.f64() + 0.0 };
            (with_nan || !value.is_nan()).then(|| Key::Float(plain.to_bits()))
        };
        keys.extend(elements.iter().map(key));
        Ok::<(), Stop>(())
    })?;
    Ok(keys)
}

fn encode(cx: &mut Cx<'_, '_>, is_strict: bool) -> Outcome {
    let x = cx.tensor(0)?;
    let given = list(cx, [attr::KEYS_FLOATS, attr::KEYS_INT64S, attr::KEYS_STRINGS, attr::KEYS_TENSOR])?;
    let values =
        list(cx, [attr::VALUES_FLOATS, attr::VALUES_INT64S, attr::VALUES_STRINGS, attr::VALUES_TENSOR])?;
    if given.elem != x.elem {
        return Err(Stop::failed("the input and the keys have different types"));
    }
    if given.count != values.count {
        return Err(Stop::failed(format_args!("there are {} keys and {} values", given.count, values.count)));
    }
    let mut table: HashMap<Key, usize, RandomState> = HashMap::default();
    for (index, key) in keys(cx, &given, is_strict)?.into_iter().enumerate() {
        let Some(key) = key else { continue };
        if is_strict {
            table.insert(key, index);
        } else {
            table.entry(key).or_insert(index);
        }
    }
    let found = keys(cx, &x, is_strict)?;
    let found = found.into_iter().map(|key| key.and_then(|key| table.get(&key).copied()));
    let otherwise = otherwise(cx, values.elem)?;
    by_unit!(values.elem, U => {
        let otherwise = cx.units::<U>(&otherwise)?;
        let [otherwise] = &*otherwise else { return Err(Stop::failed("the default must have one element")) };
        let elements = cx.units::<U>(&values)?;
        let mut out = cx.buffer(x.count)?;
        out.extend(found.map(|index| index.map_or(otherwise, |index| &elements[index]).clone()));
        cx.put_units::<U>(0, values.elem, &x.dims, out)
    })
}

/// The one list that is given, of floats, integers, texts, or in a tensor.
fn list(cx: &mut Cx<'_, '_>, names: [Symbol; 4]) -> Outcome<Operand> {
    let mut given = names.into_iter().filter(|&name| cx.has_attribute(name));
    let (Some(name), None) = (given.next(), given.next()) else {
        return Err(Stop::failed("one list of keys and one of values must be given"));
    };
    if name == names[3] {
        return tensor(cx, name);
    }
    let vector =
        |elem: ElemType, count: usize, payload| Operand::new(cx.tensor_of(elem, &[count], payload)?);
    if name == names[0] {
        let list = cx.floats(name)?.unwrap_or_default();
        vector(ElemType::Float, list.len(), f32::store(ElemType::Float, list))
    } else if name == names[1] {
        let list = cx.ints(name)?.unwrap_or_default();
        vector(ElemType::Int64, list.len(), i64::encode(ElemType::Int64, list))
    } else {
        let list = cx.texts(name)?.unwrap_or_default();
        let list: Vec<Bytes> = list.into_iter().map(Bytes::copy_from_slice).collect();
        vector(ElemType::String, list.len(), Bytes::store(ElemType::String, list))
    }
}

/// A tensor that an attribute gives.
pub(super) fn tensor(cx: &Cx<'_, '_>, name: Symbol) -> Outcome<Operand> {
    match cx.attribute(name).map(onnx_ir::Attribute::value) {
        Some(AttrValue::Tensor(tensor)) => Operand::new(dense(tensor, cx.data)?.into()),
        _ => Err(Stop::failed("an attribute is not a tensor")),
    }
}

/// The value for elements without a key.
fn otherwise(cx: &mut Cx<'_, '_>, elem: ElemType) -> Outcome<Operand> {
    if cx.has_attribute(attr::DEFAULT_TENSOR) {
        let given = tensor(cx, attr::DEFAULT_TENSOR)?;
        if given.elem != elem {
            return Err(Stop::failed("the default and the values have different types"));
        }
        return Ok(given);
    }
    let is_tensor = cx.has_attribute(attr::VALUES_TENSOR);
    let payload = match elem {
        ElemType::String => {
            let text = if is_tensor { "_Unused" } else { cx.text(attr::DEFAULT_STRING)? };
            Bytes::store(elem, vec![Bytes::copy_from_slice(text.as_bytes())])
        }
        ElemType::Double => f64::store(elem, vec![-0.0]),
        ElemType::Float if is_tensor => f32::store(elem, vec![-0.0]),
        ElemType::Float => f32::store(elem, vec![cx.float_or(attr::DEFAULT_FLOAT, -0.0)?]),
        _ if is_tensor => i64::encode(elem, vec![-1]),
        _ => i64::encode(elem, vec![cx.int_or(attr::DEFAULT_INT64, -1)?]),
    };
    Operand::new(cx.tensor_of(elem, &[1], payload)?)
}
