//! Content of messages without semantics: documentation, metadata, unknown fields.

use bytes::Bytes;
use onnx_types::{FieldForms, Symbol, Text, UnknownFields};
use smallvec::SmallVec;

use crate::entity::ValueId;

/// The bytes a small message was read from, kept only where encoding it again would give different bytes.
///
/// Setters of the record drop it.
pub type Source = Option<Box<Bytes>>;

/// One entry of a `metadata_props` list, or of any other list of `StringStringEntryProto`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetadataEntry {
    key: Symbol,
    /// Keys repeat. Values are long, distinct, and rarely compared, so they are not symbols, and a decoded value refers
    /// to the bytes of the file.
    value: Text,
    source: Source,
}

impl MetadataEntry {
    /// The entry `key: value`.
    #[must_use]
    pub fn new(key: Symbol, value: impl Into<Text>) -> Self {
        Self { key, value: value.into(), source: None }
    }

    /// The entry as a file encodes it, if that is not the canonical encoding.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_source(key: Symbol, value: Text, source: Source) -> Self {
        Self { key, value, source }
    }

    /// The key.
    #[must_use]
    pub const fn key(&self) -> Symbol {
        self.key
    }

    /// The value.
    #[must_use]
    pub const fn value(&self) -> &Text {
        &self.value
    }

    /// Changes the value.
    pub fn set_value(&mut self, value: impl Into<Text>) {
        self.value = value.into();
        self.source = None;
    }

    /// The bytes the entry was read from, where encoding it again would give others.
    #[must_use]
    pub fn source(&self) -> Option<&Bytes> {
        self.source.as_deref()
    }
}

/// A list of metadata in file order. Keys should be distinct, but files exist in which they are not.
pub type Metadata = Vec<MetadataEntry>;

/// Finds the value of a key: the last entry wins, as in a protobuf map.
#[must_use]
pub fn metadata_value(metadata: &[MetadataEntry], key: Symbol) -> Option<&Text> {
    metadata.iter().rev().find(|entry| entry.key == key).map(|entry| &entry.value)
}

/// Sets the value of a key, which then has one entry: the first that it had, or a new one at the end. Returns whether anything
/// changed.
pub fn set_metadata(metadata: &mut Metadata, key: Symbol, value: impl Into<Text>) -> bool {
    let value = value.into();
    let Some(first) = metadata.iter().position(|entry| entry.key == key) else {
        metadata.push(MetadataEntry::new(key, value));
        return true;
    };
    let (mut index, before) = (0, metadata.len());
    metadata.retain(|entry| {
        let is_kept = entry.key != key || index == first;
        index += 1;
        is_kept
    });
    let is_changed = metadata.get(first).is_none_or(|entry| entry.value != value);
    if is_changed && let Some(entry) = metadata.get_mut(first) {
        entry.set_value(value);
    }
    is_changed || metadata.len() < before
}

/// The rare parts of a node or of a value's `ValueInfoProto`, boxed so that the common ones cost one word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Extras {
    /// `doc_string`.
    pub doc: Symbol,
    /// `metadata_props`.
    pub metadata: Metadata,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// `device_configurations`; used by nodes only.
    pub device_configurations: Vec<NodeDeviceConfiguration>,
}

impl Extras {
    /// Documentation, metadata, and what a file states beyond the values.
    #[must_use]
    pub const fn new(doc: Symbol, metadata: Metadata, forms: FieldForms, unknown: UnknownFields) -> Self {
        Self { doc, metadata, unknown, forms, device_configurations: Vec::new() }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.doc.is_empty()
            && self.metadata.is_empty()
            && self.unknown.is_empty()
            && self.forms == FieldForms::CANONICAL
            && self.device_configurations.is_empty()
    }
}

/// A reference to a value by a part of the model that is not data flow (annotations, bindings, shardings).
///
/// Such a reference follows renaming, but does not keep the value alive: it is left out on writing when its value is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueRef {
    /// A value of the model.
    Value(ValueId),
    /// A name that belongs to no value.
    Name(Symbol),
}

/// Gives records of messages the encoding that a file has.
macro_rules! encoded {
    ($($record:ty),* $(,)?) => {$(
        impl $record {
            /// The record with what a file states beyond the values: the explicitly encoded defaults, and unknown fields.
            #[must_use]
            pub fn with_encoding(
                mut self,
                forms: onnx_types::FieldForms,
                unknown: onnx_types::UnknownFields,
            ) -> Self {
                (self.forms, self.unknown) = (forms, unknown);
                self
            }
        }
    )*};
}

pub(crate) use encoded;

encoded!(NodeDeviceConfiguration, Sharding, DeviceGroup, ShardedDim, SimpleSharding);

impl NodeDeviceConfiguration {
    /// The distribution by a device configuration of the model, without shardings.
    #[must_use]
    pub const fn new(configuration: Symbol) -> Self {
        Self {
            configuration,
            shardings: Vec::new(),
            pipeline_stage: None,
            forms: FieldForms::CANONICAL,
            unknown: Vec::new(),
        }
    }
}

impl Sharding {
    /// The sharding of a tensor, without devices and axes.
    #[must_use]
    pub fn new(tensor: ValueRef) -> Self {
        Self {
            tensor,
            devices: SmallVec::new(),
            groups: Vec::new(),
            dims: Vec::new(),
            forms: FieldForms::CANONICAL,
            unknown: Vec::new(),
        }
    }
}

impl DeviceGroup {
    /// The group of a key, without members.
    #[must_use]
    pub fn new(key: i64) -> Self {
        Self { key, members: SmallVec::new(), forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}

impl ShardedDim {
    /// The split of an axis, without pieces.
    #[must_use]
    pub const fn new(axis: i64) -> Self {
        Self { axis, simple: Vec::new(), forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}

impl SimpleSharding {
    /// A piece of this size, with a number of shards.
    #[must_use]
    pub const fn new(dim: ShardSize, num_shards: i64) -> Self {
        Self { dim, num_shards, forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}

/// The distribution of one node over several devices (message `NodeDeviceConfigurationProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeDeviceConfiguration {
    /// The name of the model's device configuration that this refers to.
    pub configuration: Symbol,
    /// The sharding of inputs and outputs of the node across devices.
    pub shardings: Vec<Sharding>,
    /// The stage of a pipeline the node belongs to, where given.
    pub pipeline_stage: Option<i32>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// The sharding of one tensor across devices (message `ShardingSpecProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Sharding {
    /// The input or output of the node.
    pub tensor: ValueRef,
    /// The devices, or keys of device groups.
    pub devices: SmallVec<[i64; 2]>,
    /// Groups of devices: key and members.
    pub groups: Vec<DeviceGroup>,
    /// The axes that are split.
    pub dims: Vec<ShardedDim>,
    /// The explicitly encoded defaults, and whether the devices are packed.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// A group of devices (message `IntIntListEntryProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceGroup {
    /// The key that stands for the group in the list of devices.
    pub key: i64,
    /// Its members.
    pub members: SmallVec<[i64; 2]>,
    /// The explicitly encoded defaults, and whether the members are packed.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// The split of one axis (message `ShardedDimProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ShardedDim {
    /// The axis.
    pub axis: i64,
    /// The pieces, in order.
    pub simple: Vec<SimpleSharding>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// A piece of a split axis (message `SimpleShardedDimProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SimpleSharding {
    /// The size of the piece, where given.
    pub dim: ShardSize,
    /// Number of shards of the piece.
    pub num_shards: i64,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// The size of a piece of a split axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShardSize {
    /// Not given.
    Absent,
    /// A number.
    Known(i64),
    /// A dimension variable.
    Var(Symbol),
}
