//! `DictVectorizer`: the values of a map as one row, one place for each word of the vocabulary; 0 or an empty text for
//! words that the map does not have. The specification requires that every key is a word, so others fail; onnxruntime
//! ignores them.

use std::collections::HashSet;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use super::entries;
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, eval, since};
use crate::value::{MapKey, Value};

pub(super) const KERNELS: OpKernels = eval(op::DICT_VECTORIZER, &[since(1, vectorize)]).of(domain::ML);

fn vectorize(cx: &mut Cx<'_, '_>) -> Outcome {
    let texts = cx.texts(attr::STRING_VOCABULARY)?.unwrap_or_default();
    let ints = cx.ints(attr::INT64_VOCABULARY)?.unwrap_or_default();
    let words: Vec<MapKey> = match (texts.is_empty(), ints.is_empty()) {
        (false, true) => texts.into_iter().map(|text| MapKey::Text(Bytes::copy_from_slice(text))).collect(),
        (true, false) => ints.into_iter().map(MapKey::Int).collect(),
        _ => return Err(Stop::failed("the vocabulary must be either texts or integers")),
    };
    let entries = entries(cx)?;
    cx.work(entries.len().saturating_add(words.len()))?;
    let known: HashSet<&MapKey, RandomState> = words.iter().collect();
    if !entries.keys().all(|key| known.contains(key)) {
        return Err(Stop::failed("a key of the map is not in the vocabulary"));
    }
    let Some(elem) = entries.values().find_map(Value::tensor).map(|tensor| tensor.elem()) else {
        return Err(Stop::unsupported("a map without entries, whose type is not known"));
    };
    by_unit!(elem, U => {
        let mut out = cx.buffer(words.len())?;
        for word in &words {
            out.push(match entries.get(word) {
                Some(value) => one::<U>(cx, value, elem)?,
                None => U::zero(),
            });
        }
        cx.put_units::<U>(0, elem, &[1, words.len()], out)
    })
}

/// The only element of a value of a map.
fn one<U: Unit>(cx: &mut Cx<'_, '_>, value: &Value, elem: ElemType) -> Outcome<U> {
    let tensor = value.tensor().filter(|tensor| tensor.elem() == elem).cloned();
    let tensor = tensor.ok_or_else(|| Stop::failed("the values of the map have different types"))?;
    let operand = Operand::new(tensor)?;
    match &*cx.units::<U>(&operand)? {
        [element] => Ok(element.clone()),
        _ => Err(Stop::failed("a value of the map must have one element")),
    }
}
