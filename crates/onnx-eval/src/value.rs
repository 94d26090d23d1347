//! Values: what the names of a model stand for while it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Tensor, TensorFault};

/// A value of a run. Cloning it copies no elements.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A dense tensor over shared bytes. A [splat](onnx_types::tensor::Payload::Splat) is one number that fills the tensor.
    Tensor(Arc<Tensor>),
    /// A sequence.
    Sequence(Arc<Vec<Self>>),
    /// An optional value.
    Optional(Option<Arc<Self>>),
    /// A map from integers or strings to values.
    Map(Arc<BTreeMap<MapKey, Self>>),
}

/// A key of a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MapKey {
    /// An integer of any type.
    Int(i64),
    /// A string, UTF-8 by convention.
    Text(Bytes),
}

impl Value {
    /// The tensor, if the value is one.
    #[must_use]
    pub const fn tensor(&self) -> Option<&Arc<Tensor>> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The elements of a sequence.
    #[must_use]
    pub fn sequence(&self) -> Option<&[Self]> {
        match self {
            Self::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Bytes of elements that the value keeps in memory; shared bytes count in full, and strings with their records.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        match self {
            Self::Tensor(tensor) => match tensor.payload() {
                Payload::Strings(strings) => {
                    strings.iter().map(|text| string_bytes(text.len())).fold(0, u64::saturating_add)
                }
                payload => payload.resident_bytes(),
            },
            Self::Sequence(items) => items.iter().map(Self::resident_bytes).fold(0, u64::saturating_add),
            Self::Optional(value) => value.as_ref().map_or(0, |value| value.resident_bytes()),
            Self::Map(entries) => {
                let entry = |(key, value): (&MapKey, &Self)| {
                    let key = match key {
                        MapKey::Int(_) => string_bytes(0),
                        MapKey::Text(text) => string_bytes(text.len()),
                    };
                    key.saturating_add(value.resident_bytes())
                };
                entries.iter().map(entry).fold(0, u64::saturating_add)
            }
        }
    }

    /// Number of tensors, sequences and maps in the value, each of which has a record in memory.
    pub(crate) fn record_count(&self) -> u64 {
        match self {
            Self::Tensor(_) | Self::Optional(None) => 1,
            Self::Optional(Some(value)) => value.record_count(),
            Self::Sequence(items) => 1 + items.iter().map(Self::record_count).sum::<u64>(),
            Self::Map(entries) => 1 + entries.values().map(Self::record_count).sum::<u64>(),
        }
    }

    /// Number of strings in the value: the work of adding up their bytes.
    pub(crate) fn string_count(&self) -> u64 {
        match self {
            Self::Tensor(tensor) => match tensor.payload() {
                Payload::Strings(strings) => strings.len() as u64,
                _ => 0,
            },
            Self::Optional(value) => value.as_ref().map_or(0, |value| value.string_count()),
            Self::Sequence(items) => items.iter().map(Self::string_count).sum(),
            Self::Map(entries) => entries.values().map(Self::string_count).sum(),
        }
    }

    /// The first structural fault of a tensor in the value, such as dimensions whose product is too large. Reads no element.
    pub(crate) fn fault(&self) -> Option<TensorFault> {
        match self {
            Self::Tensor(tensor) => tensor.validate().err(),
            Self::Optional(value) => value.as_ref()?.fault(),
            Self::Sequence(items) => items.iter().find_map(Self::fault),
            Self::Map(entries) => entries.values().find_map(Self::fault),
        }
    }

    /// The type in the notation of the specification, with sizes: `float[2,3]`, `seq`, `optional`, `map`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Tensor(tensor) => describe(tensor.elem(), tensor.dims()),
            Self::Sequence(items) => format!("sequence of {} values", items.len()),
            Self::Optional(None) => "empty optional".to_owned(),
            Self::Optional(Some(value)) => format!("optional {}", value.describe()),
            Self::Map(entries) => format!("map of {} entries", entries.len()),
        }
    }
}

/// What a string takes in memory: its record, its bytes, and what the allocator keeps of each.
pub(crate) const fn string_bytes(length: usize) -> u64 {
    let owned = if length == 0 { 0 } else { size_of::<Bytes>() };
    (size_of::<Bytes>() + owned) as u64 + length as u64
}

pub(crate) fn describe(elem: ElemType, dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("{elem}[{}]", dims.join(","))
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(Arc::new(tensor))
    }
}

impl From<Arc<Tensor>> for Value {
    fn from(tensor: Arc<Tensor>) -> Self {
        Self::Tensor(tensor)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
