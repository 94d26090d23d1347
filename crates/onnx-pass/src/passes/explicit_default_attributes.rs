//! The pass `explicit-default-attributes`: attributes that are left out are written with their default.

use bytes::Bytes;
use onnx_ir::{AttrValue, Attribute, Cursor, Model, NodeId};
use onnx_schema::{AttrDefault, ExclusivePart, FormalAttribute, Registry, Schema};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "explicit-default-attributes";

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Writes the default of attributes that are left out.",
        Exactness::Exact,
        explicit_default_attributes,
    )
    .with_page(include_str!("explicit_default_attributes.md"))
    .against("no-default-attributes")
}

/// Writes the attributes of standard operators that are left out and have a default, for readers that know no defaults.
pub fn explicit_default_attributes(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    cx.restructure(NAME, |model| {
        let mut added = 0;
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            for attribute in omitted(model, node, registry) {
                added += usize::from(model.set_attribute(node, attribute).is_ok());
            }
        }
        added
    })
}

fn omitted(model: &Model, node: NodeId, registry: &Registry) -> Vec<Attribute> {
    let Some(schema) = model.callee(node, registry).standard() else { return Vec::new() };
    let record = model.node(node);
    let is_omitted = |attribute: &&FormalAttribute| {
        record.attribute(attribute.name).is_none() && !is_alternative(schema, attribute)
    };
    let attributes = schema.attributes().iter().filter(is_omitted);
    attributes
        .filter_map(|attribute| Some(Attribute::new(attribute.name, value(attribute.default?)?)))
        .collect()
}

/// Whether an attribute has alternatives, of which a node may have one only: another one may be given, or meant.
fn is_alternative(schema: &Schema, attribute: &FormalAttribute) -> bool {
    schema.exclusions().any(|set| set.parts.contains(&ExclusivePart::Attribute(attribute.name)))
}

fn value(default: AttrDefault) -> Option<AttrValue> {
    Some(match default {
        AttrDefault::Float(value) => AttrValue::from(value),
        AttrDefault::Int(value) => AttrValue::from(value),
        AttrDefault::String(text) => AttrValue::from(text),
        AttrDefault::Floats(values) => AttrValue::Floats(values.to_vec()),
        AttrDefault::Ints(values) => AttrValue::from(values),
        AttrDefault::Strings(texts) => {
            AttrValue::Strings(texts.iter().map(|text| Bytes::from_static(text.as_bytes())).collect())
        }
        _ => return None,
    })
}
