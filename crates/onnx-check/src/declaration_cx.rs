//! Contexts of rules about declarations outside the graphs of a model: functions, opset imports, metadata, training,
//! devices.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use onnx_diag::Locus;
use onnx_ir::{
    DeviceConfiguration, Function, FunctionId, GraphId, MetadataEntry, NodeDeviceConfiguration, NodeId,
    OpsetImport, TrainingInfo, ValueId, ValueRef,
};
use onnx_types::Symbol;
use onnx_types::tensor::TensorMetadata;

use crate::cx::{Cx, TensorPlace, TypePlace, leads_to_cx};
use crate::features::{Feature, Seen};
use crate::places::Places;

leads_to_cx!(FunctionCx OpsetCx MetadataCx TrainingCx DeviceCx ShardingCx FeatureCx);

/// A function of the model.
pub(crate) struct FunctionCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: FunctionId,
    pub(crate) function: &'a Function,
    /// Which functions call which.
    pub(crate) calls: &'c onnx_ir::CallGraph,
}

/// The opset imports of the model or of a function.
pub(crate) struct OpsetCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) imports: &'a [OpsetImport],
    /// The function whose imports they are; `None` for those of the model.
    pub(crate) function: Option<FunctionId>,
}

impl OpsetCx<'_, '_> {
    /// What to do to find the place of an import later.
    pub(crate) fn place(&self, import: &OpsetImport) -> impl FnOnce(&Places<'_>) -> Locus + use<> {
        let (function, domain) = (self.function, import.written_domain());
        move |places| {
            let place = function.map_or_else(Locus::model, |function| places.function(function));
            place.opset_import(places.str(domain))
        }
    }
}

/// A list of metadata that is not empty.
pub(crate) struct MetadataCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) entries: MetadataList<'a>,
    pub(crate) holder: Holder,
}

/// The entries of a list of metadata.
#[derive(Clone, Copy)]
pub(crate) enum MetadataList<'a> {
    /// Those of everything but tensors.
    Symbols(&'a [MetadataEntry]),
    /// Those of a tensor.
    Texts(&'a [TensorMetadata]),
}

/// A part of the model, as the holder of metadata and of whatever came to the format late.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holder {
    /// The model.
    Model,
    /// A graph.
    Graph(GraphId),
    /// A function.
    Function(FunctionId),
    /// A node.
    Node(NodeId),
    /// A value.
    Value(ValueId),
    /// An output of a graph, where it differs from the value.
    Output(GraphId, usize),
    /// An entry of a graph's value info, where it differs from the value.
    ValueInfo(GraphId, ValueId),
    /// A tensor.
    Tensor(TensorPlace),
    /// A type, where it is declared.
    Type(TypePlace),
}

impl<'a> MetadataCx<'_, 'a> {
    /// The keys in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (symbols, texts): (&[_], &[_]) = match self.entries {
            MetadataList::Symbols(entries) => (entries, &[]),
            MetadataList::Texts(entries) => (&[], entries),
        };
        let model = self.cx.model;
        let symbols = symbols.iter().map(move |entry| model.str(entry.key()));
        symbols.chain(texts.iter().map(|entry| entry.key.as_str()))
    }
}

impl MetadataList<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Symbols(entries) => entries.len(),
            Self::Texts(entries) => entries.len(),
        }
    }
}

impl Holder {
    pub(crate) fn locate(self, places: &Places<'_>) -> Locus {
        match self {
            Self::Model => Locus::model(),
            Self::Graph(graph) => places.graph(graph),
            Self::Function(function) => places.function(function),
            Self::Node(node) => places.node(node),
            Self::Value(value) => places.definition(value),
            Self::Output(graph, index) => places.graph_output(graph, index),
            Self::ValueInfo(graph, value) => places.value_info(graph, value),
            Self::Tensor(place) => place.locate(places),
            Self::Type(place) => place.locate(places, 0),
        }
    }
}

/// An entry of the training information.
pub(crate) struct TrainingCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    /// Its position.
    pub(crate) index: usize,
    pub(crate) info: &'a TrainingInfo,
}

impl TrainingCx<'_, '_> {
    /// The name by which a binding refers to something; `None` where that is gone, and will not be written.
    pub(crate) fn name_of(&self, reference: ValueRef) -> Option<Symbol> {
        match reference {
            ValueRef::Name(name) => Some(name),
            ValueRef::Value(value) => Some(self.cx.model.get_value(value)?.name()),
        }
    }
}

/// The place of a part of a binding.
pub(crate) fn binding(places: &Places<'_>, index: usize, field: &'static str, name: Symbol) -> Locus {
    Locus::model().training_info(index).field(field).value(places.str(name))
}

/// A device configuration of the model.
pub(crate) struct DeviceCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    /// Its position.
    pub(crate) index: usize,
    pub(crate) configuration: &'a DeviceConfiguration,
    pub(crate) devices: &'c Devices<'a>,
}

impl DeviceCx<'_, '_> {
    /// What to do to find the place of the configuration later.
    pub(crate) fn place(&self) -> impl FnOnce(&Places<'_>) -> Locus + use<> {
        let (index, name) = (self.index, self.configuration.name);
        move |places| {
            let place = Locus::model().device_configuration(places.str(name));
            if name.is_empty() { place.element(index) } else { place }
        }
    }
}

/// The device configurations of a model: the first one of each name, with its position.
pub(crate) type Devices<'a> = BTreeMap<Symbol, (usize, &'a DeviceConfiguration)>;

/// The device configurations of a model, by name.
pub(crate) fn devices(configurations: &[DeviceConfiguration]) -> Devices<'_> {
    let mut devices = Devices::new();
    for (index, configuration) in configurations.iter().enumerate() {
        devices.entry(configuration.name).or_insert((index, configuration));
    }
    devices
}

/// How a node is spread over the devices of one configuration.
pub(crate) struct ShardingCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: NodeId,
    pub(crate) sharding: &'a NodeDeviceConfiguration,
    /// The configuration of the model that is meant, if there is one.
    pub(crate) device: Option<&'a DeviceConfiguration>,
    /// The inputs and outputs of the node.
    pub(crate) operands: &'c BTreeSet<ValueId>,
}

impl ShardingCx<'_, '_> {
    /// Returns a closure that computes the locus of the configuration, or of its entry for a tensor.
    pub(crate) fn place(&self, tensor: Option<ValueRef>) -> impl FnOnce(&Places<'_>) -> Locus + use<> {
        let (node, name) = (self.id, self.sharding.configuration);
        move |places| {
            let place = places.node(node).device_configuration(places.str(name));
            match tensor {
                Some(tensor) => place.value(places.referred(tensor)),
                None => place,
            }
        }
    }
}

/// Something that came to the format later than the version that the model names.
pub(crate) struct FeatureCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) feature: Feature,
    pub(crate) seen: Seen,
}
