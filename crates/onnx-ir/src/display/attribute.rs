//! Attributes in listings.

use std::fmt::{self, Display as _};

use bytes::Bytes;
use onnx_diag::Name;
use onnx_types::tensor::Tensor;

use super::{Dims, write_list, write_type, write_word};
use crate::attr::{AttrValue, Attribute};
use crate::entity::ValueId;
use crate::model::Model;

pub(super) fn write(f: &mut fmt::Formatter<'_>, model: &Model, attribute: &Attribute) -> fmt::Result {
    write_word(f, model, attribute.name())?;
    f.write_str(" = ")?;
    write_attribute_value(f, model, attribute)
}

pub(super) fn write_attribute_value(
    f: &mut fmt::Formatter<'_>,
    model: &Model,
    attribute: &Attribute,
) -> fmt::Result {
    match attribute.value() {
        AttrValue::None => write!(f, "({} without value)", attribute.kind().text_name()),
        AttrValue::Ref(target) => {
            f.write_str("@")?;
            write_word(f, model, *target)
        }
        AttrValue::Float(value) => write!(f, "{value:?}"),
        AttrValue::Int(value) => value.fmt(f),
        AttrValue::String(bytes) => string(f, bytes),
        AttrValue::Value(value) => named(f, model, *value),
        AttrValue::Values(values) => list(f, values, |f, &value| named(f, model, value)),
        AttrValue::Tensor(value) => tensor(f, value),
        AttrValue::Graph(graph) => graph.fmt(f),
        AttrValue::Floats(values) => list(f, values, |f, value| write!(f, "{value:?}")),
        AttrValue::Ints(values) => list(f, values, |f, value| value.fmt(f)),
        AttrValue::Strings(values) => list(f, values, string),
        AttrValue::Tensors(values) => list(f, values, |f, value| tensor(f, value)),
        AttrValue::Graphs(values) => list(f, values, |f, value| value.fmt(f)),
        AttrValue::SparseTensor(value) => write!(f, "sparse tensor{}", Dims(&value.dims)),
        AttrValue::SparseTensors(values) => {
            list(f, values, |f, value| write!(f, "sparse tensor{}", Dims(&value.dims)))
        }
        AttrValue::Type(value) => write_type(f, model, value),
        AttrValue::Types(values) => list(f, values, |f, value| write_type(f, model, value)),
    }
}

/// The name of a value, or its key where it has none.
fn named(f: &mut fmt::Formatter<'_>, model: &Model, value: ValueId) -> fmt::Result {
    match model.get_value(value).map(|record| model.str(record.name())) {
        None | Some("") => value.fmt(f),
        Some(name) => Name::new(name).fmt(f),
    }
}

fn string(f: &mut fmt::Formatter<'_>, bytes: &Bytes) -> fmt::Result {
    match std::str::from_utf8(bytes) {
        Ok(text) => Name::new(text).fmt(f),
        Err(_) => write!(f, "({} bytes)", bytes.len()),
    }
}

fn tensor(f: &mut fmt::Formatter<'_>, tensor: &Tensor) -> fmt::Result {
    write!(f, "{}{}", tensor.elem().name(), Dims(tensor.dims()))
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    values: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    write_list(f, values.iter(), write)?;
    f.write_str("]")
}
