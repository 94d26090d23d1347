//! The keys of generated maps.

use bytes::Bytes;
use onnx_ir::{AttrValue, Model, NodeId, User, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::value::MapKey;

/// Keys of a map at most.
const MOST: usize = 64;

/// The keys for a map that is an input of a model: those that the first operator knows that restricts them, otherwise 0, 1 and
/// 2, or the texts of these numbers.
#[must_use]
pub fn keys(model: &Model, input: ValueId, key: ElemType) -> Vec<MapKey> {
    let nodes = model.value(input).uses().iter().filter_map(|used| match used.user {
        User::Node(node) if model.node(node).domain() == domain::ML => Some(node),
        _ => None,
    });
    let mut known = nodes.filter_map(|node| of_operator(model, node)).filter(|keys| !keys.is_empty());
    known.next().unwrap_or_else(|| {
        (0..3)
            .map(|number: i64| match key {
                ElemType::String => MapKey::Text(Bytes::from(number.to_string())),
                _ => MapKey::Int(number),
            })
            .collect()
    })
}

/// The keys that an operator knows; `None` if it knows all.
fn of_operator(model: &Model, node: NodeId) -> Option<Vec<MapKey>> {
    let record = model.node(node);
    let value = |name| record.attribute(name).map(onnx_ir::Attribute::value);
    if record.op() == op::DICT_VECTORIZER {
        let texts = match value(attr::STRING_VOCABULARY) {
            Some(AttrValue::Strings(texts)) => texts.as_slice(),
            _ => &[],
        };
        let ints = match value(attr::INT64_VOCABULARY) {
            Some(AttrValue::Ints(ints)) => ints.as_slice(),
            _ => &[],
        };
        let texts = texts.iter().map(|text| MapKey::Text(Bytes::copy_from_slice(text)));
        return Some(texts.chain(ints.iter().map(|&key| MapKey::Int(key))).take(MOST).collect());
    }
    let is_sparse =
        matches!(value(attr::MAP_FORM), Some(AttrValue::String(form)) if form.as_ref() == b"SPARSE");
    if record.op() != op::CAST_MAP || !is_sparse {
        return None;
    }
    let count = record.attribute(attr::MAX_MAP).and_then(onnx_ir::Attribute::as_int).unwrap_or(1);
    Some((0..count).take(MOST).map(MapKey::Int).collect())
}
