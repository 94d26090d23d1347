//! Operands that are not tensors: sequences, optional values and maps.

use std::sync::Arc;

use onnx_eval::Value;
use onnx_schema::{TypeForm, TypeId, TypeSet};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Type};

use super::choose::{self, Rng};
use super::sizes;
use crate::evaluate::Scratch;

/// A value of one of some types, with its type; `None` for operands that are tensors, as most of those are that can be.
pub(super) fn value(
    rng: &mut Rng,
    types: TypeSet,
    elem: ElemType,
    scratch: &mut Scratch,
) -> Option<(Value, Type)> {
    let is_tensor = |id: &TypeId| matches!(id.form(), TypeForm::Tensor(_));
    let has_tensors = types.iter().any(|id| is_tensor(&id));
    let others: Vec<TypeId> = types.iter().filter(|id| !is_tensor(id)).collect();
    if others.is_empty() || has_tensors && rng.chance(85) {
        return None;
    }
    let same: Vec<TypeId> = others.iter().copied().filter(|id| id.form().to_type().elem() == elem).collect();
    let id = rng.pick(&same).or_else(|| rng.pick(&others))?;
    let form = id.form();
    Some((of_form(rng, form, scratch)?, form.to_type()))
}

fn of_form(rng: &mut Rng, form: &TypeForm, scratch: &mut Scratch) -> Option<Value> {
    match form {
        TypeForm::Tensor(elem) => {
            let rank = rng.pick(&[1, 2, 2, 3])?;
            let sizes = sizes::any(rng, rank);
            tensor(rng, &sizes, *elem, scratch)
        }
        TypeForm::Sequence(TypeForm::Tensor(elem)) => {
            let rank = rng.pick(&[1, 2, 2, 3])?;
            let mut sizes = sizes::any(rng, rank);
            let mut items = Vec::new();
            for _ in 0..rng.pick(&[2, 2, 3])? {
                items.push(tensor(rng, &sizes, *elem, scratch)?);
                // The elements of most sequences have the same sizes.
                if rng.chance(15) {
                    *sizes.first_mut()? = rng.pick(&[1, 2, 3])?;
                }
            }
            Some(Value::Sequence(Arc::new(items)))
        }
        TypeForm::Optional(_) if rng.chance(25) => Some(Value::Optional(None)),
        TypeForm::Optional(inner) => Some(Value::Optional(Some(Arc::new(of_form(rng, inner, scratch)?)))),
        _ => None,
    }
}

fn tensor(rng: &mut Rng, sizes: &[i64], elem: ElemType, scratch: &mut Scratch) -> Option<Value> {
    if elem == ElemType::String {
        return choose::strings(rng, sizes).map(Value::from);
    }
    let made = choose::data(rng, "", sizes, elem)?;
    scratch.convert(made, elem).ok().map(Value::from)
}

/// The type of a map; other values are made with their types.
pub(super) fn type_of(value: &Value) -> Option<Type> {
    let Value::Map(entries) = value else { return None };
    let (key, value) = entries.first_key_value()?;
    let key = match key {
        onnx_eval::MapKey::Int(_) => ElemType::Int64,
        onnx_eval::MapKey::Text(_) => ElemType::String,
    };
    Some(Type::map(key, Type::tensor(value.tensor()?.elem(), None)))
}

/// The element type of the tensors in a value.
pub(super) fn elem(value: &Value) -> Option<ElemType> {
    match value {
        Value::Tensor(tensor) => Some(Tensor::elem(tensor)),
        Value::Sequence(items) => items.first().and_then(elem),
        Value::Optional(inner) => inner.as_ref().and_then(|inner| elem(inner)),
        Value::Map(_) => None,
    }
}
