//! What text and JSON cannot say.

use std::fmt;

use prost_reflect::{DynamicMessage, Value};

/// Something of a model that another form leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The message or field it belongs to, such as `graph.node[3]`; empty for the model itself.
    pub path: String,
    /// What is left out.
    pub kind: LossKind,
}

/// What another form leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossKind {
    /// A field that the schema does not know.
    UnknownField {
        /// Its number.
        number: u32,
    },
    /// The sign and payload bits of a NaN: only the plain one has a name.
    NanBits,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the model" } else { &self.path };
        match self.kind {
            LossKind::UnknownField { number } => {
                write!(f, "{path}: field {number}, which the schema does not know")
            }
            LossKind::NanBits => write!(f, "{path}: sign and payload of a NaN"),
        }
    }
}

/// The bits of the NaN that `nan` means.
const PLAIN_F32: u32 = 0x7fc0_0000;
const PLAIN_F64: u64 = 0x7ff8_0000_0000_0000;

/// Everything of a message that text and JSON leave out. The depth is bounded by that of decoding.
pub(super) fn losses(message: &DynamicMessage) -> Vec<Loss> {
    let mut found = Vec::new();
    in_message(message, &mut String::new(), &mut found);
    found
}

fn in_message(message: &DynamicMessage, path: &mut String, found: &mut Vec<Loss>) {
    for unknown in message.unknown_fields() {
        let kind = LossKind::UnknownField { number: unknown.number() };
        found.push(Loss { path: path.clone(), kind });
    }
    for (field, value) in message.fields() {
        let outer = path.len();
        if outer > 0 {
            path.push('.');
        }
        path.push_str(field.name());
        match value {
            Value::List(values) => in_list(values, path, found),
            value => in_value(value, path, found),
        }
        path.truncate(outer);
    }
}

fn in_list(values: &[Value], path: &mut String, found: &mut Vec<Loss>) {
    let outer = path.len();
    for (index, value) in values.iter().enumerate() {
        if !may_lose(value) {
            continue;
        }
        path.push_str(&format!("[{index}]"));
        in_value(value, path, found);
        path.truncate(outer);
    }
}

/// Whether it is worth writing down where a value stands.
fn may_lose(value: &Value) -> bool {
    match value {
        Value::Message(_) => true,
        Value::F32(number) => number.is_nan(),
        Value::F64(number) => number.is_nan(),
        _ => false,
    }
}

fn in_value(value: &Value, path: &mut String, found: &mut Vec<Loss>) {
    let odd_nan = match value {
        Value::Message(message) => return in_message(message, path, found),
        Value::F32(number) => number.is_nan() && number.to_bits() != PLAIN_F32,
        Value::F64(number) => number.is_nan() && number.to_bits() != PLAIN_F64,
        _ => false,
    };
    if odd_nan {
        found.push(Loss { path: path.clone(), kind: LossKind::NanBits });
    }
}
