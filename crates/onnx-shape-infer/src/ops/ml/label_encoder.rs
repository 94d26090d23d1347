//! `LabelEncoder`: keys to values, element by element.
//!
//! Until version 1 there is one list of texts, which are keys or values by the type of the input. From version 2 on, one
//! attribute gives the keys, and one the values, whose type the output has; the input has the type of the keys.

use onnx_schema::{attr, domain, op};
use onnx_types::{ElemType, Symbol};

use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, TYPES_DIFFER};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::LABEL_ENCODER, &[since(1, texts), since(2, lists), since(4, lists)]).of(domain::ML);

fn texts(cx: &mut Cx<'_, '_>) -> Outcome {
    match cx.elem(0) {
        Ok(ElemType::String) => cx.set_elem(0, ElemType::Int64),
        Ok(ElemType::Int64) => cx.set_elem(0, ElemType::String),
        _ => {}
    }
    cx.copy_shape(0, 0)
}

/// The attributes that can hold a list.
struct List {
    floats: Symbol,
    ints: Symbol,
    texts: Symbol,
    tensor: Symbol,
}

const KEYS: List = List {
    floats: attr::KEYS_FLOATS,
    ints: attr::KEYS_INT64S,
    texts: attr::KEYS_STRINGS,
    tensor: attr::KEYS_TENSOR,
};
const VALUES: List = List {
    floats: attr::VALUES_FLOATS,
    ints: attr::VALUES_INT64S,
    texts: attr::VALUES_STRINGS,
    tensor: attr::VALUES_TENSOR,
};

fn lists(cx: &mut Cx<'_, '_>) -> Outcome {
    let (key, keys) = list(cx, &KEYS)?;
    let (value, values) = list(cx, &VALUES)?;
    if cx.elem(0).is_ok_and(|elem| elem != key) {
        return Err(cx.fail(&TYPES_DIFFER, "the input and the keys have different types"));
    }
    if keys != values {
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("there are {keys} keys and {values} values")));
    }
    if let Some(default) = cx.tensor_attr(attr::DEFAULT_TENSOR)? {
        if default.elem() != value {
            return Err(cx.fail(&TYPES_DIFFER, "the default and the values have different types"));
        }
        if default.dims() != [1] {
            return Err(cx.fail(&BAD_ATTRIBUTE, "the default is not a vector of one element"));
        }
    }
    cx.set_elem(0, value);
    cx.copy_shape(0, 0)
}

/// The type and the length of the one list that is given.
fn list(cx: &mut Cx<'_, '_>, list: &List) -> Outcome<(ElemType, usize)> {
    let floats = cx.floats(list.floats)?.map(|floats| (ElemType::Float, floats.len()));
    let ints = cx.ints(list.ints)?.map(|ints| (ElemType::Int64, ints.len()));
    let texts = cx.texts(list.texts)?.map(|count| (ElemType::String, count));
    let tensor = cx.tensor_attr(list.tensor)?.map(|tensor| {
        let count = tensor.element_count().and_then(|count| usize::try_from(count).ok());
        (tensor.elem(), count.unwrap_or(0))
    });
    let mut given = [floats, ints, texts, tensor].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(cx.fail(&BAD_ATTRIBUTE, "one list of keys and one of values must be given")),
    }
}
