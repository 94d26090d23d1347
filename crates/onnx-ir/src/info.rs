//! Information about a model in addition to its graphs.

use bytes::Bytes;
use onnx_types::{FieldForms, Symbol, UnknownFields};

use crate::entity::GraphId;
use crate::extras::{Metadata, Source, ValueRef};

/// An operator set that a model or function uses (message `OperatorSetIdProto`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpsetImport {
    domain: Symbol,
    version: i64,
    source: Source,
}

impl OpsetImport {
    /// Version `version` of the operator set of `domain`.
    #[must_use]
    pub const fn new(domain: Symbol, version: i64) -> Self {
        Self { domain, version, source: None }
    }

    /// An import as a file encodes it, if that is not the canonical encoding.
    #[must_use]
    pub const fn with_source(domain: Symbol, version: i64, source: Source) -> Self {
        Self { domain, version, source }
    }

    /// The domain, with `ai.onnx` replaced by its other name, the empty one.
    #[must_use]
    pub fn domain(&self) -> Symbol {
        onnx_schema::normalize_domain(self.domain)
    }

    /// The domain as it is written.
    #[must_use]
    pub const fn written_domain(&self) -> Symbol {
        self.domain
    }

    /// The version.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// Changes the version.
    pub fn set_version(&mut self, version: i64) {
        self.version = version;
        self.source = None;
    }

    /// The bytes the import was read from, where encoding it again would give others.
    #[must_use]
    pub fn source(&self) -> Option<&Bytes> {
        self.source.as_deref()
    }
}

/// The fields of a model except graphs and functions (message `ModelProto`).
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The version of the format that the model uses.
    pub ir_version: i64,
    /// The tool that made the model.
    pub producer_name: Symbol,
    /// The version of that tool.
    pub producer_version: Symbol,
    /// The namespace of the model, in reverse-DNS style.
    pub domain: Symbol,
    /// The version of the model itself.
    pub model_version: i64,
    /// `doc_string`.
    pub doc: Symbol,
    /// The operator sets that the model uses.
    pub opset_imports: Vec<OpsetImport>,
    /// `metadata_props`.
    pub metadata: Metadata,
    /// The training information of the model.
    pub training: Vec<TrainingInfo>,
    /// Device configurations that nodes refer to.
    pub configurations: Vec<DeviceConfiguration>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// One training step (message `TrainingInfoProto`).
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct TrainingInfo {
    /// The graph that computes initial values.
    pub initialization: Option<GraphId>,
    /// The graph that computes one step; it sees the names of the main graph.
    pub algorithm: Option<GraphId>,
    /// Which outputs of the initialization set which initializers.
    pub initialization_binding: Vec<Binding>,
    /// Which outputs of the step update which initializers.
    pub update_binding: Vec<Binding>,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// Sets an initializer from an output.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Binding {
    /// The initializer.
    pub key: ValueRef,
    /// The output.
    pub value: ValueRef,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

/// A set of devices (message `DeviceConfigurationProto`).
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct DeviceConfiguration {
    /// The name that nodes refer to.
    pub name: Symbol,
    /// Number of devices.
    pub num_devices: i32,
    /// The names of the devices; may be left out.
    pub devices: Vec<Symbol>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
    /// Fields that this version of the format does not know.
    pub unknown: UnknownFields,
}

impl TrainingInfo {
    /// A training step that this graph computes, without bindings.
    #[must_use]
    pub fn of_algorithm(algorithm: GraphId) -> Self {
        Self { algorithm: Some(algorithm), ..Self::default() }
    }
}

impl DeviceConfiguration {
    /// A configuration of devices with these names.
    #[must_use]
    pub fn new(name: Symbol, num_devices: i32, devices: Vec<Symbol>) -> Self {
        Self { name, num_devices, devices, ..Self::default() }
    }
}

crate::extras::encoded!(Binding);

impl Binding {
    /// The binding of a variable to the value that it is set to.
    #[must_use]
    pub const fn new(key: ValueRef, value: ValueRef) -> Self {
        Self { key, value, forms: FieldForms::CANONICAL, unknown: Vec::new() }
    }
}
