//! `CastMap`: the values of a map as one row, in the order of the keys; in the form `SPARSE`, a key is a position, and missing
//! ones are 0 or an empty text (`0.f` in onnxruntime). Values are cast as `Cast` casts them. A key outside `max_map` fails.

use bytes::Bytes;
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use super::entries;
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::number::{Unit, by_unit};
use crate::ops::math::cast;
use crate::registry::{OpKernels, eval, since};
use crate::value::{MapKey, Value};

pub(super) const KERNELS: OpKernels = eval(op::CAST_MAP, &[since(1, cast_map)]).of(domain::ML);

fn cast_map(cx: &mut Cx<'_, '_>) -> Outcome {
    let to = match cx.text(attr::CAST_TO)? {
        "TO_FLOAT" => ElemType::Float,
        "TO_INT64" => ElemType::Int64,
        "TO_STRING" => ElemType::String,
        _ => return Err(Stop::failed("attribute `cast_to` names no type")),
    };
    let entries = entries(cx)?;
    let count = match cx.text(attr::MAP_FORM)? {
        "DENSE" => None,
        "SPARSE" => Some(axes::size(cx.int_or(attr::MAX_MAP, 1)?)?),
        _ => return Err(Stop::failed("attribute `map_form` names no form")),
    };
    let mut places = cx.buffer(entries.len())?;
    let mut values = cx.buffer::<&Value>(entries.len())?;
    for (index, (key, value)) in entries.iter().enumerate() {
        let MapKey::Int(key) = key else { return Err(Stop::failed("a key is not an integer")) };
        let sparse = |count| usize::try_from(*key).ok().filter(|&place| place < count);
        let place = count.map_or(Some(index), sparse);
        places.push(place.ok_or_else(|| Stop::failed(format_args!("key {key} is outside the row")))?);
        values.push(value);
    }
    let values = joined(cx, &values)?;
    let cast = cast::payload(cx, &values, to)?;
    let cast = Operand::new(cx.tensor_of(to, &values.dims, cast)?)?;
    let dims = [1, count.unwrap_or(entries.len())];
    let count = cx.count(&dims)?;
    by_unit!(to, U => {
        let elements = cx.units::<U>(&cast)?;
        let mut out = cx.filled(count, <U as Unit>::zero())?;
        for (&place, element) in places.iter().zip(elements.iter()) {
            out[place] = element.clone();
        }
        cx.put_units::<U>(0, to, &dims, out)
    })
}

/// The values of the map, floats or texts, as one vector.
fn joined(cx: &mut Cx<'_, '_>, values: &[&Value]) -> Outcome<Operand> {
    let (mut floats, mut texts) = (Vec::<f32>::new(), Vec::<Bytes>::new());
    for value in values {
        let tensor = value.tensor().ok_or_else(|| Stop::failed("a value of the map is not a tensor"))?;
        let operand = Operand::new(tensor.clone())?;
        if operand.count != 1 {
            return Err(Stop::failed("a value of the map must have one element"));
        }
        match operand.elem {
            ElemType::String => texts.extend_from_slice(&cx.units::<Bytes>(&operand)?),
            ElemType::Float => floats.extend_from_slice(&cx.read::<f32>(&operand)?),
            elem => return Err(Stop::unsupported_type(elem)),
        }
    }
    let dims = [values.len()];
    match (floats.len() == values.len(), texts.len() == values.len()) {
        (true, _) => {
            Operand::new(cx.tensor_of(ElemType::Float, &dims, f32::store(ElemType::Float, floats))?)
        }
        (_, true) => {
            Operand::new(cx.tensor_of(ElemType::String, &dims, Bytes::store(ElemType::String, texts))?)
        }
        _ => Err(Stop::failed("the values of the map have different types")),
    }
}
